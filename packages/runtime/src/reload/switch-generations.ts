// The switch from one process of a provider to the next, with nobody's call lost: the new one stands ready beside the old
// before any call is held, and a switch that takes too long is undone.

import { ToolError, type JsonObject, type Logger } from '@toolwright/core';
import { settledWithin } from '@toolwright/core/kit';
import type { ProviderGeneration } from '../process/generation.js';
import type { ProcessToolProvider } from '../process/process-provider.js';
import type { InitializeReason } from '../wire/protocol.js';

/** How long calls may be held; a switch that has not come to its end then is put off. */
const HOLD_MS = 2_000;
/** How long calls of the old process may take to settle before its state is read. */
const DRAIN_MS = 500;
/** How long they may go on in the old process after the switch. */
const FINISH_MS = 30_000;
const PING_MS = 5_000;

/** What a switch is given. */
export interface SwitchOptions {
  provider: ProcessToolProvider;
  signal: AbortSignal;
  logger: Logger;
  /** Told of the parts of a state that JSON does not carry. */
  onDropped: (paths: readonly string[]) => void;
}

/** Thrown inside a switch that has run out of time. */
class PutOff extends Error {}

/**
 * Puts a new process in the place of the one that is called. `'put off'` when calls would have been held for too long, and
 * `'nothing runs'` when there is none, or it went meanwhile; the old one then serves on, or the next start is a new one anyway.
 *
 * @throws {ToolError} why the new process did not come up; the old one serves on
 */
export async function switchGenerations(options: SwitchOptions): Promise<'switched' | 'put off' | 'nothing runs'> {
  const { provider, signal } = options;
  const old = provider.generation;
  if (!old) return 'nothing runs';
  const next = await provider.startGeneration({ signal });
  try {
    await next.ping(PING_MS);
    const release = provider.holdCalls();
    try {
      await handOver(old, next, options);
      if (provider.generation !== old || signal.aborted) return await undone('nothing runs', next, options);
      provider.adopt(next);
    } catch (thrown) {
      if (thrown instanceof PutOff) return await undone('put off', next, options);
      if (!old.isAlive) return await undone('nothing runs', next, options);
      throw thrown;
    } finally {
      release();
    }
  } catch (thrown) {
    if (provider.generation !== next) void provider.retire(next);
    throw ToolError.from(thrown, 'UNAVAILABLE');
  }
  void provider.retire(old, { drainMs: FINISH_MS });
  return 'switched';
}

/** Lets the calls of a provider rest while its state is made anew. @throws {ToolError} what `initialize` threw */
export async function reinitialize(provider: ProcessToolProvider, generation: ProviderGeneration): Promise<void> {
  const release = provider.holdCalls();
  const work = generation
    .drain(DRAIN_MS)
    .then(() => generation.initialize(provider.settings, null, 'config'))
    .finally(release);
  if (!(await settledWithin([work], HOLD_MS))) release();
  await work;
}

/** The state, from the old to the new. */
async function handOver(
  old: ProviderGeneration,
  next: ProviderGeneration,
  { provider, onDropped }: SwitchOptions,
): Promise<void> {
  const until = performance.now() + HOLD_MS;
  await old.drain(DRAIN_MS);
  const { state, dropped } = await inTime(old.exportState(), until);
  if (dropped.length > 0) onDropped(dropped);
  const reason: InitializeReason = 'reload';
  await inTime(next.initialize(provider.settings, state satisfies JsonObject | null, reason), until);
}

async function inTime<T>(work: Promise<T>, until: number): Promise<T> {
  if (!(await settledWithin([work], Math.max(0, until - performance.now())))) throw new PutOff();
  return work;
}

async function undone<Outcome>(
  outcome: Outcome,
  next: ProviderGeneration,
  { provider }: SwitchOptions,
): Promise<Outcome> {
  void provider.retire(next);
  return outcome;
}
