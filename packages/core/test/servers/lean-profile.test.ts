// The lean profile: what it costs, and that typical wrong calls are still answered with what to do.

import { writeFile } from 'node:fs/promises';
import {
  estimateTokens,
  InProcessToolProvider,
  textOf,
  type ToolDefinition,
  type ToolErrorCode,
} from '@toolwright/core';
import { createBuiltinServers } from '@toolwright/core/servers';
import { createTestProject } from '@toolwright/core/testing';
import { afterAll, describe, expect, it } from 'vitest';

const project = await createTestProject(
  {
    'src/main.ts': 'export const one = 1;\nexport const two = 1;\n',
    'src/unread.ts': 'export const unread = 1;\n',
    'full/a.txt': 'a\n',
    'image.png': { content: Buffer.from('89504e470d0a1a0a0000', 'hex') },
  },
  { git: true },
);
const bash = { sandbox: 'auto' } as const;
const lean = InProcessToolProvider.forProject(project.projectDir, { profile: 'lean', bash });
const full = InProcessToolProvider.forProject(project.projectDir, { bash });
afterAll(async () => {
  await lean.disconnect();
  await full.disconnect();
  await project[Symbol.asyncDispose]();
});

const leanTools = await lean.listTools();
const fullTools = new Map((await full.listTools()).map((tool) => [tool.name, tool]));
const argumentsOf = ({ inputSchema }: ToolDefinition): string[] => Object.keys(inputSchema.properties as object);

/** A typical wrong call, its code, and what its answer says to do. */
type Mistake = [tool: string, args: Record<string, unknown>, code: ToolErrorCode, advice: RegExp];

const MISTAKES: Mistake[] = [
  // Names of arguments that other tools have.
  ['filesystem.read_file', { file_path: 'src/main.ts' }, 'INVALID_ARGUMENT', /did you mean "path"/],
  ['filesystem.read_file', { path: 'src/main.ts', start_line: 3 }, 'INVALID_ARGUMENT', /Valid arguments: path, offset/],
  ['filesystem.write_file', { path: 'a.txt', text: 'x' }, 'INVALID_ARGUMENT', /Valid arguments|did you mean "content"/],
  [
    'filesystem.edit_file',
    { path: 'src/main.ts', old_str: '1', new_str: '2' },
    'INVALID_ARGUMENT',
    /did you mean "old_string"/,
  ],
  ['filesystem.grep', { query: 'x' }, 'INVALID_ARGUMENT', /pattern/],
  ['filesystem.glob', { glob: '*.ts' }, 'INVALID_ARGUMENT', /pattern/],
  ['filesystem.move', { from: 'a', to: 'b' }, 'INVALID_ARGUMENT', /source.*destination/],
  ['bash.execute', { cmd: 'ls' }, 'INVALID_ARGUMENT', /Missing: command/],
  ['bash.execute', { command: 'ls', timeout: 5 }, 'INVALID_ARGUMENT', /timeout_ms/],
  ['git.log', { limit: 5 }, 'INVALID_ARGUMENT', /max/],
  ['git.commit', { msg: 'x' }, 'INVALID_ARGUMENT', /message/],
  ['git.add', { files: ['a'] }, 'INVALID_ARGUMENT', /paths/],
  ['memory.retrieve', { text: 'x' }, 'INVALID_ARGUMENT', /query/],
  ['diagnostics.definition', { name: 'one' }, 'INVALID_ARGUMENT', /symbol/],
  // Wrong values.
  ['filesystem.read_file', { path: 'src/main.ts', offset: 0 }, 'INVALID_ARGUMENT', /1/],
  ['filesystem.read_file', { path: 'src/main.ts', offset: 1, tail: 1 }, 'INVALID_ARGUMENT', /either tail, or offset/],
  ['filesystem.grep', { pattern: 'a(?=b)' }, 'INVALID_ARGUMENT', /look-around|literal/],
  ['filesystem.grep', { pattern: '(' }, 'INVALID_ARGUMENT', /Fix the pattern|literal|unclosed/],
  ['filesystem.grep', { pattern: 'x', mode: 'lines' }, 'INVALID_ARGUMENT', /content/],
  ['git.branch', { action: 'new', name: 'x' }, 'INVALID_ARGUMENT', /create/],
  ['git.restore', { paths: [] }, 'INVALID_ARGUMENT', /paths/],
  ['memory.store', { content: 'x' }, 'INVALID_ARGUMENT', /category/],
  ['memory.store', { content: 'x', category: 'other' }, 'INVALID_ARGUMENT', /technical/],
  ['diagnostics.rename', { new_name: 'x' }, 'INVALID_ARGUMENT', /path, line and column; or symbol/],
  // Paths.
  ['filesystem.read_file', { path: 'src/mian.ts' }, 'NOT_FOUND', /main\.ts/],
  ['filesystem.read_file', { path: 'src' }, 'INVALID_ARGUMENT', /list_directory/],
  ['filesystem.read_file', { path: 'image.png' }, 'BINARY_FILE', /read_media/],
  ['filesystem.read_file', { path: '../secret' }, 'OUTSIDE_PROJECT', /project/],
  ['filesystem.read_file', { path: '/etc/passwd' }, 'OUTSIDE_PROJECT', /project/],
  ['filesystem.list_directory', { path: 'src/main.ts' }, 'INVALID_ARGUMENT', /read_file|directory/],
  ['filesystem.write_file', { path: '.git/config', content: 'x' }, 'PROTECTED_PATH', /protected/],
  ['filesystem.delete', { path: 'full' }, 'INVALID_ARGUMENT', /recursive/],
  ['filesystem.copy', { source: 'full', destination: 'copy' }, 'INVALID_ARGUMENT', /recursive/],
  ['filesystem.move', { source: 'src/unread.ts', destination: 'full/a.txt' }, 'INVALID_ARGUMENT', /overwrite/],
  // Changing what was not read, or is not there.
  ['filesystem.write_file', { path: 'src/unread.ts', content: 'x' }, 'READ_REQUIRED', /[Rr]ead/],
  ['filesystem.edit_file', { path: 'src/unread.ts', old_string: 'a', new_string: 'b' }, 'READ_REQUIRED', /[Rr]ead/],
  ['filesystem.edit_file', { path: 'src/main.ts', old_string: 'const three', new_string: 'b' }, 'NO_MATCH', /main\.ts/],
  [
    'filesystem.edit_file',
    { path: 'src/main.ts', old_string: '= 1', new_string: '= 2' },
    'MULTIPLE_MATCHES',
    /replace_all/,
  ],
  ['filesystem.edit_file', { path: 'src/main.ts', old_string: '1', new_string: '1' }, 'NO_CHANGE', /./],
  ['filesystem.edit_file', { path: 'src/main.ts', new_string: 'b' }, 'INVALID_ARGUMENT', /old_string|insert_line/],
  // Git and jobs.
  ['git.commit', { message: 'x' }, 'NO_CHANGE', /Stage files with add, or set all/],
  ['git.checkout', { ref: 'no-such-branch' }, 'NOT_FOUND', /no-such-branch/],
  ['git.add', { paths: ['none.ts'] }, 'NOT_FOUND', /none\.ts/],
  ['git.add', {}, 'INVALID_ARGUMENT', /paths|all/],
  ['git.show', { ref: 'HEAD~99' }, 'NOT_FOUND', /HEAD~99/],
  ['git.branch', { action: 'delete', name: 'none' }, 'NOT_FOUND', /branch_list/],
  ['bash.job_output', { job_id: 'none' }, 'NOT_FOUND', /job_list/],
  ['bash.execute', { command: 'ls', cwd: 'none' }, 'NOT_FOUND', /none/],
  ['memory.delete', { memory_id: 'none' }, 'NOT_FOUND', /none/],
  // Tools that others have, or that only the full profile lists.
  ['filesystem.view', { path: 'src/main.ts' }, 'TOOL_NOT_FOUND', /nearest/],
  ['filesystem.read_many', { paths: ['src/main.ts'] }, 'TOOL_NOT_FOUND', /read_media|read_file/],
  ['bash.run', { command: 'ls' }, 'TOOL_NOT_FOUND', /nearest/],
];

describe('the lean profile', () => {
  it('lists under 4,000 tokens, also with the agent server, and less than half of what the full one does', async () => {
    const provider = InProcessToolProvider.forProject(project.projectDir, { profile: 'lean', agent: {} });
    const tokens = estimateTokens(await provider.listTools());
    await provider.disconnect();
    expect(tokens).toBeLessThan(4_000);
    expect(estimateTokens(leanTools)).toBeLessThan(0.5 * estimateTokens([...fullTools.values()]));
  });

  it('lists tools and arguments that the full profile has, and all required ones', () => {
    expect(leanTools.length).toBeGreaterThan(30);
    for (const tool of leanTools) {
      const whole = fullTools.get(tool.name);
      expect(whole, tool.name).toBeDefined();
      expect(argumentsOf(whole!), tool.name).toEqual(expect.arrayContaining(argumentsOf(tool)));
      expect(tool.inputSchema.required).toEqual(whole!.inputSchema.required);
      expect(argumentsOf(tool)).toEqual(expect.arrayContaining((tool.inputSchema.required ?? []) as string[]));
      expect(tool.outputSchema).toEqual(whole!.outputSchema);
    }
  });

  it('accepts arguments that it does not list', async () => {
    const result = await lean.callTool('filesystem.read_file', { path: 'src/main.ts', line_numbers: false });
    expect(result.content[0]).toMatchObject({ text: expect.stringMatching(/^export const one = 1;\n/) });
  });

  it('keeps the groups of git that were asked for', async () => {
    const provider = InProcessToolProvider.forProject(project.projectDir, {
      profile: 'lean',
      git: { groups: ['network'] },
    });
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['git.push', 'git.pull']),
    );
    await provider.disconnect();
  });

  it.each(MISTAKES)('answers %s %j with %s and what to do', async (tool, args, code, advice) => {
    if (tool === 'filesystem.edit_file') await lean.callTool('filesystem.read_file', { path: 'src/main.ts' });
    const { error, ...result } = await lean.callTool(tool, args);
    expect(error?.code, textOf(result)).toBe(code);
    expect(textOf(result)).toMatch(advice);
    // What it says to do can be done with the listed tools.
    const listed = new Set(leanTools.map(({ name }) => name.slice(name.indexOf('.') + 1)));
    const named = [...fullTools.keys()]
      .map((name) => name.slice(name.indexOf('.') + 1))
      .filter((name) => name.includes('_'));
    const missing = named.filter((name) => !listed.has(name) && new RegExp(`\\b${name}\\b`).test(textOf(result)));
    expect(missing.filter((name) => !tool.endsWith(name))).toEqual([]);
  });

  it('answers with how to continue by arguments that it lists', async () => {
    await writeFile(project.resolve('long.txt'), 'line\n'.repeat(5_000));
    const { content } = await lean.callTool('filesystem.read_file', { path: 'long.txt' });
    expect(textOf({ content })).toMatch(/Continue with offset=\d+/);
    const files = await lean.callTool('filesystem.glob', { pattern: '*', limit: 1 });
    expect(textOf(files)).toMatch(/cursor/);
    expect(argumentsOf(leanTools.find(({ name }) => name === 'filesystem.glob')!)).toContain('cursor');
  });
});

describe('createBuiltinServers()', () => {
  it('refuses a profile that it does not have', () => {
    expect(() => createBuiltinServers({ projectDir: project.projectDir, profile: 'short' as 'lean' })).toThrow(
      "profile must be 'full' or 'lean'",
    );
  });
});
