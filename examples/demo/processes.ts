// Provider processes: one in TypeScript that is edited while it is called, and one in Python.

import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolHub } from '@toolwright/core';
import { superviseProcess, type SupervisedProcess } from '@toolwright/runtime';
import type { Screen } from './screen.js';

const CALLERS = 4;
/** The number of calls after the new version started to serve. */
const CALLS_AFTER = 100;
const RELOAD_TIMEOUT_MS = 30_000;
const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Returns a description of everything that went wrong. */
export async function showProcesses(screen: Screen): Promise<string[]> {
  screen.title('\nProvider processes');
  const directory = await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-providers-`));
  try {
    await cp(fileURLToPath(new URL('providers', import.meta.url)), directory, { recursive: true });
    // In this repository, the paths of tsconfig.json resolve the packages to their sources.
    const env = { TSX_TSCONFIG_PATH: join(repository, 'tsconfig.json') };
    const shop = superviseProcess({ name: 'shop', path: 'shop.ts', cwd: directory, runtime: 'tsx', env, watch: true });
    const words = superviseProcess({ name: 'words', path: 'words.py', cwd: directory });
    await using hub = new ToolHub({ providers: [shop, words] });
    return [
      ...(await editWhileCalled(screen, hub, shop, join(directory, 'shop.ts'))),
      ...(await askPython(screen, hub)),
    ];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function editWhileCalled(screen: Screen, hub: ToolHub, shop: SupervisedProcess, file: string): Promise<string[]> {
  const reloaded = new Promise<void>((resolve) => shop.on('reloaded', () => resolve()));
  const prices = new Map<number, number>();
  const failures: string[] = [];
  let lastSold = 0;
  let left = Infinity;
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const { structuredContent, error } = await hub.callTool('shop.sell');
      if (error) {
        failures.push(`[${error.code}] ${error.message}`);
        return;
      }
      const { price, sold } = structuredContent as { price: number; sold: number };
      prices.set(price, (prices.get(price) ?? 0) + 1);
      lastSold = Math.max(lastSold, sold);
    }
  };
  const first = await hub.callTool('shop.sell');
  if (first.error) return [`shop.sell: [${first.error.code}] ${first.error.message}`];
  lastSold = 1;
  screen.note(`${CALLERS} callers call shop.ts without a pause while a discount is written into it.`);
  const calling = Promise.all(Array.from({ length: CALLERS }, caller));
  await writeFile(file, (await readFile(file, 'utf8')).replace('DISCOUNT = 0', 'DISCOUNT = 0.25'));
  const tooLong = setTimeout(() => {
    failures.push(`the new version did not serve within ${RELOAD_TIMEOUT_MS} ms`);
    left = 0;
  }, RELOAD_TIMEOUT_MS);
  await Promise.race([reloaded, calling]);
  clearTimeout(tooLong);
  left = Math.min(left, CALLS_AFTER);
  await calling;
  const [before, after] = [prices.get(20) ?? 0, prices.get(15) ?? 0];
  const calls = before + after;
  screen.fact(
    failures.length === 0,
    `${calls} calls: ${before} answered by the old version, ${after} by the new one, ${failures.length} failed.`,
  );
  screen.fact(
    lastSold === calls + 1,
    `${lastSold} things were sold in total: the new version continued the old one's count.`,
  );
  return [
    ...failures,
    ...(before > 0 && after > 0 ? [] : [`${before} calls of the old version, ${after} of the new one`]),
    ...(lastSold === calls + 1 ? [] : [`${lastSold} sold in ${calls + 1} calls`]),
  ];
}

async function askPython(screen: Screen, hub: ToolHub): Promise<string[]> {
  const result = await hub.callTool('words.count', { text: 'tools in more than one language' });
  if (result.error?.code === 'SPAWN_FAILED') {
    screen.note(`The provider in Python is left out, because python3 did not start: ${result.error.message}`);
    return [];
  }
  const words = result.structuredContent?.words;
  screen.fact(words === 6, `words.py, in Python, counted ${JSON.stringify(words)} words.`);
  return words === 6 ? [] : [`words.count: ${JSON.stringify(result.content)}`];
}
