// Command lines: of containers, and of npm's scripts on Windows.

import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textOf } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { containerCommand, MCPToolProvider } from '@toolwright/core/mcp';
import { describe, expect, it } from 'vitest';
import { windowsCommand } from '../../../src/mcp/transport/windows-command.js';

describe('containerCommand()', () => {
  it('passes names of environment variables, not their values', () => {
    const { command, args, remove } = containerCommand(
      {
        image: 'mcp/files:1.0',
        engine: 'podman',
        args: ['--root', '/data'],
        network: 'none',
        mounts: [
          { source: '/home/me/project', target: '/data' },
          { source: '/tmp/out', target: '/out', readOnly: false },
        ],
      },
      { TOKEN: 'canary' },
      'box',
    );
    expect(command).toBe('podman');
    expect(args).toEqual([
      ...['run', '--rm', '--interactive', '--init', '--name', 'box', '--security-opt', 'no-new-privileges'],
      ...['--network', 'none'],
      ...['--mount', 'type=bind,source=/home/me/project,target=/data,readonly'],
      ...['--mount', 'type=bind,source=/tmp/out,target=/out'],
      ...['--env', 'TOKEN', 'mcp/files:1.0', '--root', '/data'],
    ]);
    expect(remove).toEqual(['rm', '--force', 'box']);
  });

  it('starts each container under a unique name', () => {
    const nameOf = (): unknown => containerCommand({ image: 'a' }).remove.at(-1);
    expect(nameOf()).not.toBe(nameOf());
  });

  it.each([
    { image: '--privileged' },
    { image: '' },
    { image: 'a b' },
    { image: 'a', network: '-x' },
    { image: 'a', mounts: [{ source: '/a,target=/etc', target: '/b' }] },
    { image: 'a', mounts: [{ source: 'relative', target: '/b' }] },
  ])('refuses %j', (options) => {
    expect(() => containerCommand(options)).toThrow(/container\./);
  });

  it('runs a real container, and reports its exit', async (test) => {
    const image = 'node:22-alpine';
    const probe = spawnChild({ command: 'docker', args: ['image', 'inspect', image], cwd: tmpdir() });
    probe.stdout.resume();
    const found = await probe.exited.then(({ code }) => code === 0).catch(() => false);
    test.skip(!found, `there is no container engine that has ${image}`);
    const container = { image, args: ['node', '-e', 'console.error("from inside"); process.exit(3)'] };
    await using provider = new MCPToolProvider({ name: 'c', container });
    await expect(provider.connect()).rejects.toThrow(/from inside/);
  });

  it('is used by a provider, and the container is removed at the end', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-engine-'));
    try {
      // Stands in for an engine: says how it was called, and runs the server itself.
      const engine = join(directory, 'engine');
      const hostile = new URL('../fixtures/hostile.mjs', import.meta.url).pathname;
      await writeFile(
        engine,
        `#!/bin/sh\necho "$@" >> "${directory}/calls"\n[ "$1" = run ] && exec "${process.execPath}" "${hostile}" plain\nexit 0\n`,
      );
      await chmod(engine, 0o755);
      await using provider = new MCPToolProvider({
        name: 'c',
        container: { image: 'img', engine },
        env: { TOKEN: 'canary' },
      });
      expect(textOf(await provider.callTool('c.do', { what: 'environment' }))).toContain('"TOKEN":"canary"');
      await provider.disconnect();
      const [run = '', remove = ''] = (await readFile(join(directory, 'calls'), 'utf8')).trim().split('\n');
      expect(run).toMatch(/^run --rm .*--env TOKEN img$/);
      expect(run).not.toContain('canary');
      const name = /--name (\S+)/.exec(run)?.[1];
      expect(remove).toBe(`rm --force ${name}`);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

describe('windowsCommand()', () => {
  const SHIM = '@ECHO off\r\n...\r\n"%_prog%"  "%dp0%\\node_modules\\pkg\\bin.js" %*\r\n';
  const files: Record<string, string> = {
    'C:\\npm\\server.cmd': SHIM,
    'C:\\npm\\plain.bat': 'echo %*',
    'C:\\bin\\tool.exe': 'MZ',
  };
  const lookup = { path: 'C:\\bin;C:\\npm', readFile: (path: string) => files[path] };

  it('runs the script of an npm .cmd file without a shell', () => {
    expect(windowsCommand('server', ['a & calc', '%PATH%'], lookup)).toEqual({
      command: process.execPath,
      args: ['C:\\npm\\node_modules\\pkg\\bin.js', 'a & calc', '%PATH%'],
    });
    expect(windowsCommand('C:\\npm\\server.cmd', [], lookup).args).toEqual(['C:\\npm\\node_modules\\pkg\\bin.js']);
  });

  it('does not change programs found by their extension', () => {
    expect(windowsCommand('tool', ['x'], lookup)).toEqual({ command: 'C:\\bin\\tool.exe', args: ['x'] });
    expect(windowsCommand('nothing', [], lookup)).toEqual({ command: 'nothing', args: [] });
  });

  it('rejects any other batch file', () => {
    expect(() => windowsCommand('plain', [], lookup)).toThrow(/batch file/);
  });
});
