import { link, lstat, readdir, readlink } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import { ToolHub } from '../../../src/hub/hub.js';
import { createFilesystemServer } from '../../../src/servers/filesystem/index.js';
import { openTools, type Tools } from '../filesystem/filesystem-tools.js';
import { attack, named, SLOTS } from './every-tool.js';

/** The way of a link, and what makes it dangerous. */
const LINKS = {
  'to-file': { link: '../outside/secret.txt' },
  'to-directory': { link: '../outside' },
  'to-link': { link: 'to-file' },
  'to-link-to-directory': { link: 'to-directory' },
  absolute: { link: '/etc/passwd' },
  'to-process': { link: '/proc/self/root' },
  'to-cwd': { link: '/proc/self/cwd' },
  'to-descriptors': { link: '/proc/self/fd' },
  dangling: { link: '../outside/new.txt' },
  'dangling-directory': { link: '../outside/new' },
  loop: { link: 'pool' },
  pool: { link: 'loop' },
  self: { link: 'self' },
  'up-again': { link: 'sub/../../outside' },
};

describe.each(SLOTS)('filesystem tool: $name', (slot) => {
  const open = (): Promise<Tools> => openTools({ 'sub/a.txt': 'inside\n', ...LINKS }, { requireRead: false });
  const LAST = ['to-file', 'to-directory', 'to-link', 'absolute', 'to-process', 'dangling', 'dangling-directory'];

  it('fails with OUTSIDE_PROJECT when the path leads outside through a link', async () => {
    await using tools = await open();
    for (const path of [
      ...['to-directory/secret.txt', 'to-link-to-directory/secret.txt', 'up-again/secret.txt', 'to-process/etc/passwd'],
      ...['to-cwd/package.json', 'to-descriptors/0', 'dangling-directory/x.txt', 'to-directory/new/deep/x.txt'],
    ])
      expect(await attack(tools, slot, path), path).toBe('OUTSIDE_PROJECT');
  });

  it('fails with INVALID_ARGUMENT immediately when links in the path form a loop', async () => {
    await using tools = await open();
    for (const path of ['loop/x', 'self/x']) expect(await attack(tools, slot, path), path).toBe('INVALID_ARGUMENT');
  });

  it.skipIf(slot.takesLinks)(
    'fails and creates nothing when the path is a link that leads outside or is dangling',
    async () => {
      await using tools = await open();
      for (const path of LAST) {
        expect(await attack(tools, slot, path), path).toBe('OUTSIDE_PROJECT');
        expect(await readlink(tools.path(path))).toBe(LINKS[path as keyof typeof LINKS].link);
      }
      for (const path of ['loop', 'self']) expect(await attack(tools, slot, path), path).toBe('INVALID_ARGUMENT');
    },
  );

  it.skipIf(!slot.takesLinks)('acts on a link itself when it is the last part of the path', async () => {
    for (const path of [...LAST, 'loop', 'self']) {
      await using tools = await open();
      const expected = {
        'stat of a link': undefined,
        'move, source': undefined,
        'move, destination': 'INVALID_ARGUMENT',
        'copy, source': path === 'loop' || path === 'self' ? undefined : 'OUTSIDE_PROJECT',
        'copy, destination': 'INVALID_ARGUMENT',
        delete: undefined,
      }[slot.name];
      expect(await attack(tools, slot, path), path).toBe(expected);
    }
  });
});

describe('filesystem tool that overwrites a link', () => {
  it.each(['move', 'copy'])('replaces the link itself when it is %s with overwrite', async (tool) => {
    await using tools = await openTools({ 'a.txt': 'inside\n', ...LINKS });
    for (const destination of ['to-file', 'dangling', 'loop']) {
      await tools.write('a.txt', 'inside\n');
      expect((await tools.call(tool, { source: 'a.txt', destination, overwrite: true })).code).toBeUndefined();
      expect((await lstat(tools.path(destination))).isFile()).toBe(true);
    }
    expect(await readdir(tools.world.resolve('outside'))).toEqual(['secret.txt']);
    expect(await tools.world.read('outside/secret.txt')).toBe('secret needle\n');
  });
});

describe('filesystem tools under a policy that denies secrets*', () => {
  let tools: Tools;
  let hub: ToolHub;
  beforeAll(async () => {
    tools = await openTools({
      'secrets/k': 'key needle\n',
      'ok.txt': { link: 'secrets/k' },
      ok: { link: 'secrets' },
      'ok-twice': { link: 'ok' },
    });
    const server = createFilesystemServer({ projectDir: tools.projectDir, fsync: false, requireRead: false });
    hub = new ToolHub({
      providers: [new InProcessToolProvider({ servers: [server] })],
      policy: { default: 'allow', rules: [{ tool: '*', pattern: 'secrets*', action: 'deny' }] },
    });
  });
  afterAll(async () => {
    await hub.disconnect();
    await tools[Symbol.asyncDispose]();
  });

  it.each(SLOTS)('holds for $name when a link leads there', async (slot) => {
    const paths = ['secrets/k', 'ok/k', 'ok-twice/k', './sub/../secrets//k', tools.path('ok/k')];
    if (!slot.takesLinks) paths.push('ok.txt');
    for (const path of paths) {
      const result = await hub.callTool(`filesystem.${slot.tool}`, slot.args(path));
      expect(result.error?.code, path).toBe('PERMISSION_DENIED');
      expect(JSON.stringify(result)).not.toContain('key needle');
    }
    expect((await tools.read('secrets/k')).toString()).toBe('key needle\n');
  });
});

describe('filesystem tools on hard links', () => {
  it('a hard link to a file outside the project is not detected, as SECURITY.md says', async () => {
    await using tools = await openTools();
    await link(tools.world.resolve('outside/secret.txt'), tools.path('second-name'));
    const { text } = await tools.call('read_file', { path: 'second-name' });
    expect(text).toContain('secret needle');
    expect((await tools.call('stat', { path: 'second-name' })).data).toMatchObject({ nlink: 2 });
    // The name goes, and not the file; a copy is a file of its own.
    expect((await tools.call('copy', { source: 'second-name', destination: 'own' })).code).toBeUndefined();
    expect((await lstat(tools.path('own'))).nlink).toBe(1);
    expect(await attack(tools, named('stat'), 'missing')).toBe('NOT_FOUND');
    expect((await tools.call('delete', { path: 'second-name' })).code).toBeUndefined();
    expect(await tools.world.read('outside/secret.txt')).toBe('secret needle\n');
  });

  it('a rule on a file holds for its name in another normal form', async () => {
    await using tools = await openTools({ 'caf\u00e9.txt': 'composed\n' });
    const rules = [{ tool: 'filesystem.*', pattern: 'caf\u00e9.txt', action: 'deny' } as const];
    await using hub = new ToolHub({ providers: [tools.provider], policy: { rules, default: 'allow' } });
    for (const [tool, args] of [
      ['read_file', { path: 'cafe\u0301.txt' }],
      ['stat', { path: 'cafe\u0301.txt' }],
      ['delete', { path: 'cafe\u0301.txt' }],
      ['move', { source: 'cafe\u0301.txt', destination: 'b.txt' }],
      ['copy', { source: 'cafe\u0301.txt', destination: 'b.txt' }],
    ] as const)
      expect((await hub.callTool(`filesystem.${tool}`, args)).error?.code).toBe('PERMISSION_DENIED');
    expect((await tools.read('caf\u00e9.txt')).toString()).toBe('composed\n');
  });
});
