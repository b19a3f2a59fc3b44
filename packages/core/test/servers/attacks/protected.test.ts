import { lstat, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTools, type Tools } from '../filesystem/filesystem-tools.js';
import { attack, named, SLOTS } from './every-tool.js';

const WRITING = SLOTS.filter((slot) => slot.writes);

const PROTECTED_FILES = {
  '.git/config': '[core]\n',
  '.git/hooks/pre-commit': '#!/bin/sh\n',
  '.mcp.json': '{}',
  '.vscode/settings.json': '{}',
  'packages/a/.git': 'gitdir: ../../.git/modules/a\n',
  'packages/a/index.ts': 'export {};\n',
};
const LINKS = {
  hooks: { link: '.git/hooks' },
  config: { link: '.git/config' },
  'link-to-link': { link: 'hooks' },
  up: { link: 'packages/a/..' },
};

/** Each that is there, and each that is not yet. */
const SPELLINGS = [
  ...['.git', '.git/config', '.git/hooks/pre-commit', '.git/hooks/post-checkout', '.git/info/attributes'],
  ...[
    '.mcp.json',
    '.vscode/settings.json',
    '.vscode/tasks.json',
    '.gitmodules',
    '.envrc',
    '.idea/x',
    '.claude/x',
    '.codex/x',
  ],
  ...['.bashrc', '.zshrc', '.profile', 'deep/er/.git/config', 'packages/a/.git', 'packages/a/.envrc'],
  ...['.GIT/config', '.Git/hooks/x', '.Mcp.Json', '.ENVRC', '.git./config', '.git /config', '.git. ./x', '.envrc.'],
  ...['.git::$INDEX_ALLOCATION/config', '.envrc::$DATA', '.mcp.json:stream', 'GIT~1/config', 'git~2', 'GITMOD~1'],
  ...['VSCODE~1/tasks.json', '.g\u200cit/config', '.git\u200b/config', '\ufeff.git/config', '.vſcode/x', '.ｇｉｔ/x'],
  ...[
    './.git/config',
    'a/../.git/config',
    '.git//config',
    '.git/../.git/config',
    '.git/./hooks/x',
    'packages/../.envrc',
  ],
];

let tools: Tools;
beforeAll(async () => {
  tools = await openTools({ ...PROTECTED_FILES, ...LINKS, 'a/b.txt': '' }, { requireRead: false });
});
afterAll(() => tools[Symbol.asyncDispose]());

/** No protected file is changed, or made. */
async function expectUntouched(): Promise<void> {
  for (const [name, content] of Object.entries(PROTECTED_FILES))
    expect((await tools.read(name)).toString()).toBe(content);
  const all = await readdir(tools.projectDir, { recursive: true }); // Node follows links here
  const names = all.filter((name) => !Object.keys(LINKS).some((link) => name.startsWith(`${link}/`))).sort();
  expect(names).toEqual(
    [
      ...['.git', '.git/hooks', '.keep', '.vscode', 'a', 'a/b.txt', 'packages', 'packages/a'],
      ...Object.keys(PROTECTED_FILES),
      ...Object.keys(LINKS),
    ].sort(),
  );
}

describe.each(WRITING)('filesystem tool: $name', (slot) => {
  it('fails with PROTECTED_PATH for every spelling, whether or not the path exists', async () => {
    for (const path of [...SPELLINGS, tools.path('.git/config')]) {
      expect(await attack(tools, slot, path), path).toBe('PROTECTED_PATH');
    }
    await expectUntouched();
  });

  it('fails with PROTECTED_PATH when a link leads to a protected path', async () => {
    // These two need something there, or nothing, and say so first.
    const earlier = { edit_file: 'NOT_FOUND', create_directory: 'INVALID_ARGUMENT' }[slot.name];
    for (const path of ['hooks/pre-commit', 'hooks/new', 'link-to-link/new', 'up/a/.git'])
      expect(['PROTECTED_PATH', earlier], path).toContain(await attack(tools, slot, path));
    if (!slot.takesLinks && slot.name !== 'create_directory')
      expect(await attack(tools, slot, 'config')).toBe('PROTECTED_PATH');
    await expectUntouched();
  });
});

describe('read_file', () => {
  it('reads protected files, such as .git/config', async () => {
    for (const name of ['read_file', 'list_directory', 'stat']) {
      const path = name === 'list_directory' ? '.git' : '.git/config';
      expect(await attack(tools, named(name), path)).toBeUndefined();
    }
  });
});

describe('filesystem tool on a directory with protected content', () => {
  it.each(['packages', 'packages/a'])('does not move, delete or copy %s', async (path) => {
    for (const name of ['move, source', 'delete', 'copy, source'])
      expect(await attack(tools, named(name), path)).toBe('PROTECTED_PATH');
    await expectUntouched();
  });

  it('does not create one by moving or copying a directory whose content would be protected at the destination', async () => {
    await using own = await openTools({ 'plain/hooks/x': '', 'plain/config': '' });
    for (const tool of ['move', 'copy']) {
      for (const destination of ['.git', '.GIT', 'sub/.git', '.vscode', '.git/modules', 'sub/.claude/commands']) {
        const args = { source: 'plain', destination, ...(tool === 'copy' && { recursive: true }) };
        expect((await own.call(tool, args)).code, `${tool} to ${destination}`).toBe('PROTECTED_PATH');
      }
    }
    expect((await readdir(own.projectDir)).sort()).toEqual(['.keep', 'plain']);
  });

  it('does not move or delete the project itself', async () => {
    for (const name of ['move, source', 'delete'])
      expect(await attack(tools, named(name), '.')).toBe('INVALID_ARGUMENT');
    await expectUntouched();
  });
});

describe('assertWritable() of files that are not protected', () => {
  // SECURITY.md says why these are written like any other file.
  it.each(['.gitattributes', '.npmrc', 'package.json', '.github/workflows/ci.yml', 'Makefile'])(
    'allows %s, as SECURITY.md says',
    async (path) => {
      await using own = await openTools();
      expect(await attack(own, named('write_file'), path)).toBeUndefined();
      expect((await lstat(own.path(path))).isFile()).toBe(true);
    },
  );
});
