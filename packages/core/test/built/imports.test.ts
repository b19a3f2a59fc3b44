// The built packages: which modules import which, what an import loads, and that CommonJS can require them.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runNode } from './run-node.js';

interface Metafile {
  inputs: Record<string, { imports: { path: string; kind: string; external?: boolean }[] }>;
  outputs: Record<string, { entryPoint?: string; imports: { path: string; kind: string; external?: boolean }[] }>;
}

const packageDir = (name: string): string => fileURLToPath(new URL(`../../../${name}/`, import.meta.url));

async function metafileOf(name: string): Promise<Metafile> {
  const path = `${packageDir(name)}dist/metafile-esm.json`;
  const text = await readFile(path, 'utf8').catch(() => {
    throw new Error(`${path} is missing: run "npm run build" first`);
  });
  return JSON.parse(text) as Metafile;
}

/** Every import of every module, as [importer, imported]; sources by their path from src/. */
async function importsOf(name: string): Promise<[string, string][]> {
  const { inputs } = await metafileOf(name);
  const pairs = Object.entries(inputs).flatMap(([from, { imports }]) =>
    imports.map(({ path }) => [from, path] as [string, string]),
  );
  expect(pairs.length).toBeGreaterThan(name === 'core' ? 100 : -1);
  return pairs.map(([from, to]) => [from.replace(/^.*src\//, ''), to.replace(/^.*src\//, '')]);
}

const AUTHORING = /^((contract|call|tool|process)\/[^/]+|node-version)\.ts$/;

describe('built packages', () => {
  it('imports only gateway -> runtime -> core', async () => {
    const outer: Record<string, RegExp> = {
      core: /^@toolwright\//,
      runtime: /^@toolwright\/(gateway|runtime)/,
      gateway: /^@toolwright\/gateway/,
    };
    for (const [name, forbidden] of Object.entries(outer)) {
      for (const [from, to] of await importsOf(name)) expect(to, `${name}: ${from}`).not.toMatch(forbidden);
    }
  });

  it('imports only authoring modules, and no other server, from a tool server', async () => {
    const pairs = (await importsOf('core')).filter(([from]) => from.startsWith('servers/'));
    expect(pairs.length).toBeGreaterThan(20);
    for (const [from, to] of pairs) {
      if (!to.endsWith('.ts')) continue; // a package or a module of Node's
      const own = /^servers\/([^/]+)\//.exec(from)?.[1];
      const target = /^servers\/(?!project\/)([^/]+)\//.exec(to)?.[1];
      if (target !== undefined) {
        if (from !== 'servers/index.ts') expect(target, `${from} -> ${to}`).toBe(own);
      } else if (!to.startsWith('servers/')) expect(to, from).toMatch(AUTHORING);
    }
  });

  it('imports no module of Node from the adapters, because browsers load them too', async () => {
    const pairs = await importsOf('core');
    const reached = new Set(['adapters/index.ts']);
    for (const from of reached) for (const [importer, to] of pairs) if (importer === from) reached.add(to);
    expect(reached.size).toBeGreaterThan(1);
    expect([...reached].filter((path) => !path.endsWith('.ts'))).toEqual([]);
  });

  it('imports node:child_process only from src/process', async () => {
    for (const name of ['core', 'runtime', 'gateway']) {
      for (const [from, to] of await importsOf(name)) {
        if (/child_process/.test(to)) expect(`${name}: ${from}`).toMatch(/^core: process\//);
      }
    }
  });

  it('imports the MCP SDK only from src/mcp', async () => {
    const pairs = (await importsOf('core')).filter(([, to]) => to.startsWith('@modelcontextprotocol/'));
    expect(pairs.length).toBeGreaterThan(3);
    for (const [from] of pairs) expect(from).toMatch(/^mcp\//);
  });

  it('has no cycle of value imports among the contract modules', async () => {
    const pairs = await importsOf('core');
    expect(
      pairs.filter(([from]) => ['contract/tool-provider.ts', 'contract/errors.ts', 'contract/json.ts'].includes(from)),
    ).toEqual([]);
  });
});

describe('import of a built package', () => {
  it.each([
    ['@toolwright/core', []],
    ['@toolwright/core/process', []],
    ['@toolwright/core/servers', ['diff']],
    ['@toolwright/core/servers/diagnostics', ['diff']],
    ['@toolwright/core/testing', []],
    ['@toolwright/core/mcp', []],
    ['@toolwright/core/openapi', []],
    ['@toolwright/core/internal', []],
    ['@toolwright/runtime', []],
    ['@toolwright/runtime/provider', []],
    ['@toolwright/runtime/testing', []],
    ['@toolwright/gateway/testing', []],
    ['@toolwright/gateway', []],
    ['@toolwright/gateway/config', ['zod', 'yaml', 'jsonc-parser', 'smol-toml']],
  ])('import(%j) loads no SDK, ajv, zod, database, wasm or language server, only %j', async (entry, allowed) => {
    const loaded = await runNode(
      `const { register } = await import('node:module');
       register('data:text/javascript,' + encodeURIComponent(\`
         export async function resolve(specifier, context, next) {
           const resolved = await next(specifier, context);
           if (resolved.url.includes('/node_modules/')) console.error(resolved.url);
           return resolved;
         }\`));
       await import(${JSON.stringify(entry)});`,
    );
    const packages = loaded.stderr.match(/(?<=\/node_modules\/)(@[^/\s]+\/)?[^/\s]+/g) ?? [];
    const foreign = [...new Set(packages)].filter((name) => !name.startsWith('@toolwright/'));
    expect(foreign.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(loaded.stderr).not.toMatch(/\.wasm|sqlite/);
  });

  it('import("ajv") is detected by the same check', async () => {
    const loaded = await runNode(`
      const { register } = await import('node:module');
      register('data:text/javascript,' + encodeURIComponent("export async function resolve(s, c, n) { const r = await n(s, c); if (r.url.includes('/node_modules/')) console.error(r.url); return r; }"));
      await import('ajv');`);
    expect(loaded.stderr).toContain('/node_modules/ajv/');
  });

  it.each([
    '@toolwright/core',
    '@toolwright/core/servers',
    '@toolwright/core/process',
    '@toolwright/core/testing',
    '@toolwright/core/mcp',
    '@toolwright/core/openapi',
    '@toolwright/core/internal',
    '@toolwright/runtime',
    '@toolwright/runtime/provider',
    '@toolwright/gateway',
  ])('require(%j) works in CommonJS, as there is no top-level await', async (entry) => {
    const { stdout } = await runNode(`console.log(Object.keys(require(${JSON.stringify(entry)})).length)`, 'commonjs');
    expect(Number(stdout)).toBeGreaterThan(0);
  });

  it('defineTool() accepts zod 3 and plain JSON Schemas when run from the built package', async () => {
    const { stdout } = await runNode(`
      import { defineServer, defineTool, InProcessToolProvider } from '@toolwright/core';
      import { z } from 'zod/v3';
      const tools = [
        defineTool({ name: 'three', description: 'T.', input: z.object({ n: z.number() }), execute: ({ n }) => String(n) }),
        defineTool({ name: 'plain', description: 'P.', input: { type: 'object', properties: { n: { type: 'number' } } }, execute: ({ n }) => String(n) }),
      ];
      const provider = new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools })] });
      for (const { name } of tools) console.log((await provider.callTool(name, { n: '7' })).content[0].text);
      await provider.disconnect();`);
    expect(stdout.trim().split('\n')).toEqual(['7', '7']);
  });
});
