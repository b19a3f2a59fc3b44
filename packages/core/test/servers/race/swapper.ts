// A process of native speed that exchanges two names while an attempt is made again and again.

import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { ToolError, type ToolErrorCode } from '../../../src/contract/errors.js';
import { spawnChild } from '../../../src/process/index.js';

const SOURCE = fileURLToPath(new URL('../fixtures/swapper.c', import.meta.url));
/** Enough to keep the thread pool busy, so that the swapper meets every step of an attempt. */
const AT_ONCE = 6;
/** On a busy machine one side may hardly run: a race goes on for so long until both have. */
const MAX_EXTRA_MS = 20_000;
/** After so many attempts of which hardly one was served, the swapper rests a little more, 5 ms at most. */
const ATTEMPTS_A_LOOK = 200;
const MAX_RESTS = 50;

/** The compiled swapper, or why there is none. */
export interface Swapper extends AsyncDisposable {
  program: string;
  missing: string | undefined;
}

/** Compiles the swapper, or another program of the fixtures. */
export async function compileSwapper(source = SOURCE): Promise<Swapper> {
  const directory = await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-swapper-`));
  const program = join(directory, 'swapper');
  const swapper = {
    program,
    missing: undefined as string | undefined,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
  if (process.platform !== 'linux') return { ...swapper, missing: 'renameat2 is a call of Linux' };
  await using compiler = spawnChild({ command: 'cc', args: ['-O2', '-Wall', '-o', program, source], cwd: directory });
  compiler.stdout.resume();
  try {
    const { code } = await compiler.exited;
    return code === 0 ? swapper : { ...swapper, missing: `cc ended with ${code}: ${compiler.stderrTail()}` };
  } catch (error) {
    return { ...swapper, missing: `there is no C compiler: ${ToolError.from(error).message}` };
  }
}

/** What became of the attempts. */
export interface RaceFigures {
  served: number;
  swaps: number;
  /** The refusals, by code. */
  refused: Partial<Record<ToolErrorCode, number>>;
}

interface RaceOptions {
  atOnce?: number;
  mostlyRefused?: boolean;
  until?: (() => boolean) | undefined;
}

/**
 * Makes `count` attempts, some at once, while `swapper` exchanges the two names. Where the machine is so busy that one
 * side hardly ran, it makes more, for up to 20 seconds. A refusal is a ToolError; anything else that is thrown
 * fails the test.
 *
 * @param mostlyRefused for a race whose attempts are hardly ever served: only the swaps are waited for
 * @param until goes on, within the same time, until this is true, too
 */
export async function whileSwapping(
  swapper: Swapper,
  names: readonly [string, string],
  count: number,
  attempt: (index: number) => Promise<unknown>,
  { atOnce = AT_ONCE, mostlyRefused = false, until = () => true }: RaceOptions = {},
): Promise<RaceFigures> {
  await using child = spawnChild({ command: swapper.program, args: [...names], cwd: '/', stdin: 'pipe' });
  const lines = createInterface(child.stdout);
  await once(lines, 'line');
  const figures: RaceFigures = { served: 0, swaps: 0, refused: {} };
  let enoughSwaps = false;
  lines.on('line', (line) => (enoughSwaps ||= line === 'enough'));
  const isRealYet = (): boolean => {
    const twentieth = (figures.served + sum(figures.refused)) / 20;
    return enoughSwaps && figures.served >= twentieth && Math.max(...Object.values(figures.refused), 0) >= twentieth;
  };
  let [rests, servedBefore, lookAt] = [0, 0, ATTEMPTS_A_LOOK];
  const balance = (): void => {
    if (mostlyRefused || figures.served + sum(figures.refused) < lookAt) return;
    if (figures.served - servedBefore < ATTEMPTS_A_LOOK / 10 && rests++ < MAX_RESTS) child.stdin?.write('r');
    servedBefore = figures.served;
    lookAt += ATTEMPTS_A_LOOK;
  };
  const isDone = (): boolean => (mostlyRefused ? enoughSwaps : isRealYet()) && until();
  let next = 0;
  const giveUpAt = performance.now() + MAX_EXTRA_MS;
  const run = async (): Promise<void> => {
    while (next < count || (!isDone() && performance.now() < giveUpAt)) {
      try {
        await attempt(next++);
        figures.served++;
      } catch (error) {
        if (!ToolError.isInstance(error)) throw error;
        figures.refused[error.code] = (figures.refused[error.code] ?? 0) + 1;
      }
      balance();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  let last = '';
  lines.on('line', (line) => (last = line));
  const closed = once(lines, 'close');
  child.stdin?.end();
  await closed;
  figures.swaps = Number(last);
  await child.exited;
  return figures;
}

/** A race in which one side hardly ran shows nothing. Prints its figures. */
export function expectRealRace(what: string, figures: RaceFigures, refusal: ToolErrorCode = 'OUTSIDE_PROJECT'): void {
  const { served, swaps, refused } = figures;
  console.log(`race, ${what}: ${JSON.stringify(figures)}`);
  const all = served + sum(refused);
  expect(served, 'served').toBeGreaterThanOrEqual(all * 0.05);
  expect(refused[refusal], refusal).toBeGreaterThanOrEqual(all * 0.05);
  expect(swaps, 'swaps').toBeGreaterThanOrEqual(10_000);
}

function sum(counts: RaceFigures['refused']): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
