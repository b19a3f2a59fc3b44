// Several processes use one store: killed at random, writing concurrently, and with either SQLite library.

import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnChild, type Child } from '../../../src/process/index.js';
import { driverName, openSqlite } from '../../../src/servers/memory/sqlite/driver.js';
import { soaking, tries } from '../../soak.js';
import { openTools, type Tools } from './memory-tools.js';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** Inside the package, so that the bundles find the packages that they import. */
const BUILT = at(`../../../node_modules/.cache/toolwright-test-${process.pid}`);

beforeAll(async () => {
  await mkdir(BUILT, { recursive: true });
  const bundler = 'esbuild'; // a transitive dependency
  const { build } = (await import(bundler)) as { build: (options: object) => Promise<unknown> };
  await build({
    entryPoints: {
      process: at('./fixtures/memory-process.ts'),
      worker: at('../../../src/servers/memory/service/worker.ts'),
    },
    outdir: BUILT,
    outExtension: { '.js': '.js' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    banner: { js: '// built for one run of the tests' },
  });
  await writeFile(`${BUILT}/package.json`, '{"type":"module"}');
}, 60_000);
afterAll(() => rm(BUILT, { recursive: true, force: true }));

interface Run {
  child: Child;
  lines: string[];
  /** Fulfills when the process has printed this many lines, or has exited. */
  said(count: number): Promise<void>;
  ended: Promise<void>;
}

function run(tools: Tools, args: readonly string[], node = process.execPath): Run {
  const child = spawnChild({ command: node, args: [`${BUILT}/process.js`, tools.projectDir, ...args], cwd: BUILT });
  const lines: string[] = [];
  let waiting: (() => void)[] = [];
  const tell = (): void => {
    const told = waiting;
    waiting = [];
    for (const resolve of told) resolve();
  };
  const reader = createInterface(child.stdout);
  reader.on('line', (line) => {
    lines.push(line);
    tell();
  });
  let isOver = false;
  const ended = Promise.all([child.exited, new Promise((resolve) => reader.once('close', resolve))]).then(() => {
    isOver = true;
    tell();
  });
  return {
    child,
    lines,
    ended,
    async said(count) {
      while (lines.length < count && !isOver) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

function kill({ child }: Run): void {
  try {
    if (child.pid !== undefined) process.kill(child.pid, 'SIGKILL');
  } catch {
    // It has exited already.
  }
}

/** All memories, read directly from the database. */
async function contentsIn(tools: Tools): Promise<Set<string>> {
  const connection = await openSqlite(tools.path('.mcp-memory/memory.db'), driverName());
  try {
    expect(connection.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    const rows = connection.prepare('SELECT content FROM memory WHERE deleted_ms IS NULL').all();
    return new Set(rows.map(({ content }) => String(content)));
  } finally {
    connection.close();
  }
}

const acknowledged = (runs: readonly Run[]): string[] =>
  runs.flatMap(({ lines }) => lines.filter((line) => line.startsWith('ack ')).map((line) => line.slice(4)));
const complaints = (runs: readonly Run[]): string[] =>
  runs.flatMap(({ lines }) => lines.filter((line) => /^(error|lost)/.test(line)));

describe('createMemoryServer()', () => {
  const rounds = tries(100);

  it(
    `loses nothing that was acknowledged when four writers and two readers are killed ${rounds} times`,
    async () => {
      await using tools = await openTools({}, { globalDir: undefined });
      await tools.store('the first');
      const readers = [run(tools, ['read']), run(tools, ['read'])];
      const writers: Run[] = [];
      for (let round = 0; round < rounds; round++) {
        const four = Array.from({ length: 4 }, (_, index) => run(tools, ['write', `w${round}-${index}`, '100000']));
        // Each at another moment: after a different number of results.
        await Promise.all(
          four.map(async (writer, index) => {
            await writer.said(1 + ((round * 7 + index * 13) % 23));
            kill(writer);
            await writer.ended;
          }),
        );
        writers.push(...four);
        if (round % 4 !== 0) continue; // sometimes a reader is killed and replaced too
        const reader = run(tools, ['read']);
        const [old] = readers.splice(0, 1, reader);
        if (old) {
          await old.said(1);
          kill(old);
          await old.ended;
          writers.push(old);
        }
      }
      for (const reader of readers) {
        await reader.said(1);
        kill(reader);
        await reader.ended;
      }
      const acks = acknowledged(writers);
      expect(complaints([...writers, ...readers])).toEqual([]);
      expect(acks.length).toBeGreaterThan(rounds * 4);
      const kept = await contentsIn(tools);
      expect(acks.filter((content) => !kept.has(content))).toEqual([]);
      const { data } = await tools.call('stats', { check: true });
      expect(data.stores[0]).toMatchObject({ integrity: 'ok', quarantined: [], memories: kept.size });
      console.log(`${rounds} rounds of kills: ${acks.length} acknowledged, ${kept.size} kept`);
    },
    soaking ? 600_000 : 60_000,
  );

  it(
    'stores everything without a LOCKED error when eight processes store at the same time',
    async () => {
      await using tools = await openTools({}, { globalDir: undefined });
      const each = tries(500);
      const started = performance.now();
      const writers = Array.from({ length: 8 }, (_, index) => run(tools, ['write', `p${index}`, String(each)]));
      await Promise.all(writers.map(({ ended }) => ended));
      expect(complaints(writers)).toEqual([]);
      expect(acknowledged(writers)).toHaveLength(8 * each);
      expect((await contentsIn(tools)).size).toBe(8 * each);
      console.log(`8 x ${each} stores: ${Math.round(performance.now() - started)} ms`);
    },
    soaking ? 300_000 : 60_000,
  );

  const nodes = ['22', '24']
    .map((release) => ({ release, node: at(`../../../../../tools/peers/node_modules/node${release}/bin/node`) }))
    .filter(({ node }) => existsSync(node));
  if (nodes.length === 0) console.warn('Without tools/peers no other Node is at hand: its SQLite is not tested.');

  it.skipIf(nodes.length === 0)(
    'works with both SQLite libraries on one store at the same time, and prints nothing',
    async () => {
      await using tools = await openTools({}, { globalDir: undefined });
      const writers = [
        run(tools, ['write', 'own', '40']),
        ...nodes.map(({ release, node }) => run(tools, ['write', `node${release}`, '40'], node)),
      ];
      await Promise.all(writers.map(({ ended }) => ended));
      expect(complaints(writers)).toEqual([]);
      for (const { child } of writers) expect(child.stderrTail()).toBe('');
      expect((await contentsIn(tools)).size).toBe(40 * writers.length);
      const { data } = await tools.call('retrieve', { query: 'node24 deployment', tags: ['node24'], limit: 50 });
      expect(data.results).toHaveLength(40);
    },
  );

  it('sees what another process stored, changed and deleted at the next call', async () => {
    await using tools = await openTools({}, { globalDir: undefined, embedder: 'off' });
    await using other = tools.another();
    const id = await tools.store('a shared thing');
    const find = async (query: string): Promise<number> =>
      (await other.call('retrieve', { query })).data.results.length;
    expect(await find('shared')).toBe(1);
    await tools.call('update', { memory_id: id, content: 'a private thing' });
    expect([await find('shared'), await find('private')]).toEqual([0, 1]);
    await tools.call('delete', { memory_id: id });
    expect(await find('private')).toBe(0);
  });
});
