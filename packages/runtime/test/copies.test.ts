// Two copies of the packages in one process, as a bundled provider file or a second installation makes them.

import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineServer, InProcessToolProvider, ToolHub, type McpPeer, type ToolProvider } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { providerFromModule, supervise } from '@toolwright/runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleFixtures, type BundledFixtures } from './bundle.js';
import type * as Copy from './fixtures/second-copy.js';

let fixtures: BundledFixtures;
let copy: typeof Copy;
beforeAll(async () => {
  fixtures = await bundleFixtures();
  copy = (await import(pathToFileURL(fixtures.file('second-copy')).href)) as typeof Copy;
  expect(copy.ToolHub).not.toBe(ToolHub); // what this is about
}, 60_000);
afterAll(() => fixtures[Symbol.asyncDispose]());

describe('exports of another copy of the package', () => {
  const sumOf = async (provider: ToolProvider): Promise<unknown> => {
    const { structuredContent, content } = await provider.callTool('math.add', { a: '1', b: 2 });
    return structuredContent ?? content;
  };

  it('is a provider for providerFromModule(), by its file and by itself', async () => {
    for (const module of [fixtures.file('second-copy'), copy.default as never]) {
      await using provider = await providerFromModule(module);
      expect(await sumOf(provider)).toEqual({ sum: 3 });
    }
  });

  it('is a tool for defineServer(), and a server for InProcessToolProvider', async () => {
    const own = defineServer({ name: 'math', version: '1.0.0', tools: [copy.add as never] });
    const others = copy.defineServer({ name: 'math', version: '1.0.0', tools: [copy.add] });
    for (const server of [own, others as never]) {
      await using provider = new InProcessToolProvider({ servers: [server] });
      expect(await sumOf(provider)).toEqual({ sum: 3 });
    }
  });

  it('is a provider for a hub, with its deadline, its cancellation and its errors', async () => {
    const server = copy.defineServer({ name: 'math', version: '1.0.0', tools: [copy.add] });
    const make = (): ToolProvider => new copy.InProcessToolProvider({ servers: [server] });
    await using hub = new ToolHub({ providers: [make()] });
    expect(await sumOf(hub)).toEqual({ sum: 3 });
    expect((await hub.callTool('math.add', { a: 1 })).error?.code).toBe('INVALID_ARGUMENT');
    const signal = AbortSignal.abort();
    expect((await hub.callTool('math.add', { a: 1, b: 2 }, { signal })).error?.code).toBe('CANCELLED');
    await using supervised = supervise(make);
    expect(await sumOf(supervised)).toEqual({ sum: 3 });
  });

  it('is a hub within a hub, whose peers are found', async () => {
    const peer = { capabilities: {} } as McpPeer;
    const server = copy.defineServer({ name: 'math', version: '1.0.0', tools: [copy.add] });
    const provider = Object.assign(new copy.InProcessToolProvider({ name: 'far', servers: [server] }), { mcp: peer });
    await using hub = new ToolHub({ providers: [new copy.ToolHub({ providers: [provider] })] });
    expect(hub.peers().get('far')).toBe(peer);
    expect(await sumOf(hub)).toEqual({ sum: 3 });
  });
});

it('ProcessToolProvider leaves module resolution as it is: a link is followed after it has run', async () => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-`)));
  try {
    await mkdir(join(directory, 'real'));
    await symlink('real', join(directory, 'link'));
    for (const name of ['a', 'b'])
      await writeFile(join(directory, 'real', `${name}.mjs`), 'export const { url } = import.meta;\n');
    const child = spawnChild({
      command: process.execPath,
      args: [
        fixtures.file('linked-host'),
        fixtures.file('troubled-provider'),
        ...['a', 'b'].map((name) => join(directory, 'link', `${name}.mjs`)),
      ],
      cwd: directory,
    });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await child.exited;
    expect(printed.trim(), child.stderrTail()).toBe(pathToFileURL(join(directory, 'real', 'b.mjs')).href);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
