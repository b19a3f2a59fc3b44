// Calls every tool of the filesystem server with a hostile path in each argument that takes one, and checks the answer: a
// known error code, a readable message, no delay, and nothing outside changed or revealed.

import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { TOOL_ERROR_CODES, type ToolErrorCode } from '../../../src/contract/errors.js';
import type { JsonObject } from '../../../src/contract/json.js';
import type { Tools } from '../filesystem/filesystem-tools.js';

/** Far longer than any of these calls takes; a call that waits for a FIFO never ends. */
export const PATIENCE_MS = 10_000;
/** What the files outside hold; `openTools` makes them. */
const CANARY = /secret needle/;

/** What only the system, or Node, says. */
const RAW = /\b(E(NOENT|ACCES|PERM|LOOP|NOTDIR|ISDIR|EXIST|INVAL|NXIO|NAMETOOLONG|NOTEMPTY|IO))\b|\/proc\/self|syscall/;

/** A place for a path. */
export interface Slot {
  /** The tool, and the place where it has several. */
  name: string;
  writes: boolean;
  /** Works on a link in the last place, not on what it leads to. */
  takesLinks: boolean;
  tool: string;
  args(path: string): JsonObject;
}

const patch = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const slot = (
  name: string,
  args: Slot['args'],
  kind: { writes?: true; takesLinks?: true; tool?: string } = {},
): Slot => ({ name, tool: name, writes: false, takesLinks: false, args, ...kind });

const WRITES = { writes: true } as const;
const ENTRY = { takesLinks: true } as const;
const byPatch = { ...WRITES, tool: 'apply_patch' } as const;

/** `.keep` is a file of every project that `openTools` makes. */
export const SLOTS: readonly Slot[] = [
  slot('read_file', (path) => ({ path })),
  slot('read_many', (path) => ({ paths: [path] })),
  slot('read_media', (path) => ({ path })),
  slot('list_directory', (path) => ({ path, depth: 3 })),
  slot('glob', (path) => ({ pattern: '**', path })),
  slot('grep', (path) => ({ pattern: 'needle', path })),
  slot('stat', (path) => ({ path })),
  slot('stat of a link', (path) => ({ path, follow: false }), { ...ENTRY, tool: 'stat' }),
  slot('write_file', (path) => ({ path, content: 'x' }), WRITES),
  slot('edit_file', (path) => ({ path, old_string: 'secret', new_string: 'x' }), WRITES),
  slot('apply_patch, add', (path) => ({ patch: patch(`*** Add File: ${path}`, '+x') }), byPatch),
  slot(
    'apply_patch, update',
    (path) => ({ patch: patch(`*** Update File: ${path}`, '-secret needle', '+x') }),
    byPatch,
  ),
  slot('apply_patch, delete', (path) => ({ patch: patch(`*** Delete File: ${path}`) }), byPatch),
  slot(
    'apply_patch, move',
    (path) => ({ patch: patch('*** Update File: .keep', `*** Move to: ${path}`, '@@', '+x') }),
    byPatch,
  ),
  slot('create_directory', (path) => ({ path }), WRITES),
  slot('move, source', (source) => ({ source, destination: 'moved' }), { ...WRITES, ...ENTRY, tool: 'move' }),
  slot('move, destination', (destination) => ({ source: '.keep', destination }), { ...WRITES, ...ENTRY, tool: 'move' }),
  slot('copy, source', (source) => ({ source, destination: 'copied', recursive: true }), { ...ENTRY, tool: 'copy' }),
  slot('copy, destination', (destination) => ({ source: '.keep', destination }), { ...WRITES, ...ENTRY, tool: 'copy' }),
  slot('delete', (path) => ({ path, recursive: true }), { ...WRITES, ...ENTRY }),
];

export const named = (name: string): Slot => {
  const found = SLOTS.find((each) => each.name === name);
  if (!found) throw new Error(`There is no slot ${name}.`);
  return found;
};

/** Calls a tool with a hostile path, and gives the code it answers; undefined when it was served. */
export async function attack(
  tools: Tools,
  { name, tool, args }: Slot,
  path: string,
): Promise<ToolErrorCode | undefined> {
  const what = `${name} with ${JSON.stringify(path).slice(0, 200)}`;
  const before = outsideOf(tools);
  await tools.provider.connect(); // what is loaded once is not the attack's
  const started = performance.now();
  const answer = await tools.call(tool, args(path));
  expect(performance.now() - started, what).toBeLessThan(PATIENCE_MS);
  const { code, text } = tool === 'read_many' ? firstOf(answer) : answer;
  const whole = `${answer.text}${JSON.stringify(answer.data)}${JSON.stringify(answer.details)}`;
  expect(whole, what).not.toMatch(CANARY);
  if (code !== undefined) {
    expect(TOOL_ERROR_CODES, what).toContain(code);
    expect(['EXECUTION_FAILED', 'INTERNAL', 'OUTPUT_INVALID'], `${what}: ${text}`).not.toContain(code);
    expect(text.replaceAll(path, ''), what).not.toMatch(RAW);
  }
  expect(answer.text, what).not.toMatch(/[^\P{Cc}\n\t]|\p{Cf}/u);
  if (/[\p{Cc}\p{Cf}]/u.test(path)) expect(answer.text, what).not.toContain(path);
  expect(outsideOf(tools), what).toEqual(before);
  return code;
}

function firstOf(answer: Awaited<ReturnType<Tools['call']>>): { code: ToolErrorCode | undefined; text: string } {
  if (answer.code !== undefined) return answer;
  const [first] = answer.data['files'] as { error?: { code: ToolErrorCode; message: string } }[];
  return { code: first?.error?.code, text: first?.error?.message ?? '' };
}

/** Everything beside the project: names, kinds, modes, times, contents. */
function outsideOf({ world, projectDir }: Tools): string[] {
  const found: string[] = [];
  const add = (directory: string): void => {
    for (const name of readdirSync(directory).sort()) {
      const path = join(directory, name);
      if (path === projectDir) continue;
      const stats = lstatSync(path);
      const content = stats.isFile() ? readFileSync(path, 'utf8') : stats.isSymbolicLink() ? readlinkSync(path) : '';
      found.push(`${path} ${stats.mode} ${stats.ino} ${stats.mtimeMs} ${content}`);
      if (stats.isDirectory()) add(path);
    }
  };
  add(world.projectDir);
  return found;
}
