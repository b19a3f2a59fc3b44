import { InProcessToolProvider, ToolHub, type JsonObject, type PolicyRule } from '@toolwright/core';
import { createFilesystemServer } from '@toolwright/core/servers';
import { createTestProject, type TestProject } from '@toolwright/core/testing';
import { symlink } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

// A rule about one path holds for calls that claim a directory above it.

const DENY_SECRETS: PolicyRule = { tool: 'filesystem.*', pattern: 'secrets/*', action: 'deny' };

let project: TestProject;

beforeEach(async () => {
  project = await createTestProject({
    'src/a.ts': 'needle in a\n',
    'secrets/key.ts': 'needle in key\n',
    'secrets/more/deep.ts': 'needle in deep\n',
  });
  await symlink('.', project.resolve('here'));
});
afterEach(() => project[Symbol.asyncDispose]());

function openHub(rules: PolicyRule[], search: 'rg' | 'js' = 'rg'): ToolHub {
  const server = createFilesystemServer({ projectDir: project.projectDir, search, requireRead: false });
  return new ToolHub({
    providers: [new InProcessToolProvider({ name: 'p', servers: [server] })],
    policy: { rules, default: 'allow' },
  });
}

async function call(rules: PolicyRule[], tool: string, args: JsonObject, search?: 'rg' | 'js') {
  await using hub = openHub(rules, search);
  const result = await hub.callTool(`filesystem.${tool}`, args);
  return { ...result, text: result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n') };
}

describe('ctx.permits() in tools that search', () => {
  it.each([
    ['rg', '.'],
    ['js', '.'],
    ['rg', 'here'],
    ['js', 'here'],
  ] as const)('grep (%s) of %s omits it, and reports it', async (search, path) => {
    for (const mode of ['content', 'files', 'count']) {
      const { text, structuredContent } = await call([DENY_SECRETS], 'grep', { pattern: 'needle', path, mode }, search);
      expect(text).toContain('a.ts');
      expect(text).not.toMatch(/key|deep/);
      expect(text).toContain('The policy hides 2 paths');
      expect(structuredContent?.withheld).toBe(2);
    }
  });

  it.each(['rg', 'js'] as const)('glob (%s) omits it', async (search) => {
    for (const sort of ['path', 'mtime']) {
      const { structuredContent, text } = await call([DENY_SECRETS], 'glob', { pattern: '**/*.ts', sort }, search);
      expect(structuredContent?.files).toEqual(['src/a.ts']);
      expect(text).toContain('The policy hides 2 paths');
    }
  });

  it('list_directory omits it', async () => {
    const { structuredContent, text } = await call([DENY_SECRETS], 'list_directory', { path: '.', depth: 3 });
    const paths = (structuredContent?.entries as { path: string }[]).map(({ path }) => path);
    expect(paths).toEqual(['here', 'secrets', 'src', 'src/a.ts']);
    expect(text).toContain('The policy hides 2 paths');
  });

  it('reports nothing about a policy that hides nothing', async () => {
    const { structuredContent, text } = await call([{ ...DENY_SECRETS, pattern: 'elsewhere/*' }], 'grep', {
      pattern: 'needle',
    });
    expect(structuredContent?.match_count).toBe(3);
    expect(structuredContent).not.toHaveProperty('withheld');
    expect(text).not.toContain('policy');
  });
});

describe('ctx.permits() in tools that change files', () => {
  it.each<[string, JsonObject]>([
    ['delete', { path: 'secrets', recursive: true }],
    ['move', { source: 'secrets', destination: 'open' }],
    ['copy', { source: 'secrets', destination: 'open', recursive: true }],
    ['move', { source: 'src', destination: 'secrets/src' }],
    ['copy', { source: 'src', destination: 'secrets/src', recursive: true }],
  ])('refuses %s %j, which changes nothing', async (tool, args) => {
    const { error } = await call([DENY_SECRETS], tool, args);
    expect(error?.code).toBe('PERMISSION_DENIED');
    expect(await project.read('secrets/key.ts')).toBe('needle in key\n');
    expect(await project.read('src/a.ts')).toBe('needle in a\n');
    const { structuredContent } = await call([], 'glob', { pattern: '**', sort: 'path' });
    expect(structuredContent?.files).toEqual(['secrets/key.ts', 'secrets/more/deep.ts', 'src/a.ts']);
  });

  it('allows what it does not name', async () => {
    expect((await call([DENY_SECRETS], 'copy', { source: 'src', destination: 'lib', recursive: true })).isError).toBe(
      false,
    );
    expect((await call([DENY_SECRETS], 'move', { source: 'lib', destination: 'other' })).isError).toBe(false);
    expect((await call([DENY_SECRETS], 'delete', { path: 'other', recursive: true })).isError).toBe(false);
  });
});

describe('ToolHub with a rule that an approval added', () => {
  it('holds for exactly what was shown, whatever the order of the arguments', async () => {
    const requested: string[][] = [];
    const saved: PolicyRule[] = [];
    const server = createFilesystemServer({ projectDir: project.projectDir, requireRead: false });
    const copy = (hub: ToolHub, args: JsonObject) => hub.callTool('filesystem.copy', { overwrite: true, ...args });
    await using hub = new ToolHub({
      providers: [new InProcessToolProvider({ name: 'p', servers: [server] })],
      policy: {
        rules: [],
        default: 'ask',
        approve: ({ claims, suggestedRules }) => {
          requested.push(claims.map(({ pattern }) => pattern));
          return requested.length === 1 ? { decision: 'always', rules: suggestedRules } : { decision: 'deny' };
        },
      },
      onRuleAdded: (rule) => saved.push(rule),
    });
    expect((await copy(hub, { source: 'src/a.ts', destination: 'b[1].ts' })).isError).toBe(false);
    expect((await copy(hub, { destination: 'b[1].ts', source: './src/../src/a.ts' })).isError).toBe(false);
    expect(requested).toEqual([['src/a.ts', 'b[1].ts', 'src/a.ts -> b[1].ts']]);
    // What was not shown: the other direction, and what the name would match as a glob.
    expect((await copy(hub, { source: 'b[1].ts', destination: 'src/a.ts' })).error?.code).toBe('PERMISSION_DENIED');
    expect(requested.at(-1)).toEqual(['b[1].ts -> src/a.ts']);
    expect((await copy(hub, { source: 'src/a.ts', destination: 'b1.ts' })).error?.code).toBe('PERMISSION_DENIED');
    expect(requested.at(-1)).toEqual(['b1.ts', 'src/a.ts -> b1.ts']);
    expect(saved.map(({ pattern }) => pattern)).toEqual(['src/a.ts', 'b[1].ts', 'src/a.ts -> b[1].ts']);
    // Another hub that was given the saved rules allows the same and no more.
    await using later = openHub(saved);
    expect((await copy(later, { source: 'src/a.ts', destination: 'b[1].ts' })).isError).toBe(false);
  });

  it('applies a rule on a directory to moves and copies within it', async () => {
    const rules: PolicyRule[] = [{ tool: 'filesystem.*', pattern: 'src/*', action: 'allow' }];
    const server = createFilesystemServer({ projectDir: project.projectDir, requireRead: false });
    await using hub = new ToolHub({
      providers: [new InProcessToolProvider({ name: 'p', servers: [server] })],
      policy: { rules, default: 'deny' },
    });
    const move = (source: string, destination: string) => hub.callTool('filesystem.move', { source, destination });
    expect((await move('src/a.ts', 'src/b.ts')).isError).toBe(false);
    expect((await move('src/b.ts', 'c.ts')).error?.code).toBe('PERMISSION_DENIED');
  });
});
