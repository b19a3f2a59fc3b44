// The demo's check reports a result that differs from the disk.

import { createTestProject } from '@toolwright/core/testing';
import { InProcessToolProvider, type JsonObject, type ToolResult } from '@toolwright/core';
import { expect, it } from 'vitest';
import { DiskCheck } from '../../../../examples/demo/disk-check.js';

const FILES = { 'a.txt': 'first line\nsecond line\n', 'b.bin': new Uint8Array([0, 1, 2]) };

/** A call, and a change that makes its result wrong. */
const CASES: [name: string, args: JsonObject, forge: (result: ToolResult) => void][] = [
  [
    'filesystem.list_directory',
    { path: '.' },
    ({ structuredContent }) => (structuredContent!.entries as unknown[]).pop(),
  ],
  [
    'filesystem.glob',
    { pattern: '*' },
    ({ structuredContent }) => (structuredContent!.files as string[]).push('gone.txt'),
  ],
  [
    'filesystem.grep',
    { pattern: 'line', path: 'a.txt' },
    ({ structuredContent }) => (structuredContent!.matches as unknown[]).pop(),
  ],
  ['filesystem.read_file', { path: 'a.txt' }, ({ content }) => Object.assign(content[0]!, { text: 'first lime\n' })],
  ['bash.execute', { command: 'grep -c line a.txt' }, ({ content }) => Object.assign(content[0]!, { text: '4\n' })],
  ['bash.execute', { command: 'exit 3' }, ({ structuredContent }) => (structuredContent!.exit_code = 0)],
  ['git.status', {}, ({ structuredContent }) => (structuredContent!.entries as unknown[]).pop()],
  ['git.commit', { message: 'one', all: true }, ({ structuredContent }) => (structuredContent!.oid = 'f00')],
];

it.each(CASES)(
  'DiskCheck.compare() reports a difference when the result of %s %j was changed, and only then',
  async (name, args, forge) => {
    await using project = await createTestProject(FILES, { git: true });
    await project.write('a.txt', `${FILES['a.txt']}third line\n`);
    await using provider = InProcessToolProvider.forProject(project.projectDir, { bash: { sandbox: 'auto' } });
    const check = new DiskCheck(project.projectDir);
    const result = structuredClone(
      await provider.callTool(name, { ...args, ...(name.endsWith('read_file') && { line_numbers: false }) }),
    );
    await check.compare({ name, args }, result);
    expect(check.differences).toEqual([]);
    forge(result);
    await check.compare({ name, args }, result);
    expect(check.differences).toHaveLength(1);
  },
);

it('DiskCheck.compare() reports a difference when an edit was not made or an outside path was read', async () => {
  await using project = await createTestProject(FILES);
  const check = new DiskCheck(project.projectDir);
  const done: ToolResult = { content: [], isError: false, directives: [], durationMs: 0, structuredContent: {} };
  const args = { path: 'a.txt', edits: [{ old_string: 'first', new_string: 'FIRST' }] };
  await check.compare({ name: 'filesystem.edit_file', args }, done);
  await check.compare({ name: 'filesystem.read_file', args: { path: '../outside' } }, done);
  expect(check.differences).toHaveLength(2);
});
