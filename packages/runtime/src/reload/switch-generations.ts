// Switches from one process of a provider to the next without losing a call: the new one is ready beside the old before
// any call is held, and a switch that takes too long is undone.

import { ToolError, type JsonObject, type Logger } from '@toolwright/core';
import { settledWithin } from '@toolwright/core/internal';
import type { ProviderGeneration } from '../process/generation.js';
import type { ProcessToolProvider } from '../process/process-provider.js';
import type { Decision, InitializeReason, ProviderSettings } from '../wire/protocol.js';

/** How long calls may be held; a switch that takes longer is postponed. */
const HOLD_MS = 2_000;
/** How long calls of the old process may take before its state is exported. */
const DRAIN_MS = 500;
/** How long calls may continue in the old process after the switch. */
const FINISH_MS = 30_000;
const PING_MS = 5_000;

/** Options of a switch. */
export interface SwitchOptions {
  provider: ProcessToolProvider;
  signal: AbortSignal;
  logger: Logger;
  /** Receives the parts of a state that JSON cannot represent. */
  onDropped: (paths: readonly string[]) => void;
}

/** Thrown when a switch takes too long. */
class SwitchTooSlow extends Error {}

/**
 * Replaces the running process by a new one. Resolves to `'postponed'` when calls would have been held for too long: the
 * old process continues. Resolves to `'not running'` when no process runs, or the old one ended meanwhile: the next start
 * loads the new version anyway.
 *
 * @throws {ToolError} why the new process did not start; the old one continues
 */
export async function switchGenerations(options: SwitchOptions): Promise<'switched' | 'postponed' | 'not running'> {
  const { provider, signal } = options;
  const old = provider.generation;
  if (!old) return 'not running';
  const next = await provider.startGeneration({ signal });
  let outcome: 'switched' | 'postponed' | 'not running';
  try {
    await next.ping(PING_MS);
    // Calls are held only during the switch, not while the old process ends.
    const release = provider.holdCalls();
    try {
      outcome = await replace(old, next, options);
    } finally {
      release();
    }
  } catch (thrown) {
    await provider.retire(next);
    throw ToolError.from(thrown, 'UNAVAILABLE');
  }
  if (outcome === 'switched') void provider.retire(old, { drainMs: FINISH_MS });
  else await provider.retire(next);
  return outcome;
}

async function replace(
  old: ProviderGeneration,
  next: ProviderGeneration,
  options: SwitchOptions,
): Promise<'switched' | 'postponed' | 'not running'> {
  const { provider, signal } = options;
  try {
    await handOver(old, next, options);
  } catch (thrown) {
    if (thrown instanceof SwitchTooSlow) return 'postponed';
    if (!old.isAlive) return 'not running';
    throw thrown;
  }
  if (provider.generation !== old || signal.aborted) return 'not running';
  provider.adopt(next);
  return 'switched';
}

/**
 * Holds the calls of a provider while its state is created again.
 *
 * @throws {ToolError} what `initialize` threw, TIMED_OUT after `timeoutMs`
 */
export async function reinitialize(
  provider: ProcessToolProvider,
  generation: ProviderGeneration,
  timeoutMs: number,
): Promise<void> {
  const release = provider.holdCalls();
  const work = generation
    .drain(DRAIN_MS)
    .then(() => generation.initialize(provider.settings, null, 'config'))
    .finally(release);
  const held = setTimeout(release, HOLD_MS);
  try {
    if (await settledWithin([work], timeoutMs)) return await work;
  } finally {
    clearTimeout(held);
    work.catch(() => undefined); // awaited above, or too late to report
  }
  const words = `The provider "${provider.name}" had not finished initialize() after ${timeoutMs} ms.`;
  throw new ToolError('TIMED_OUT', words, { provider: provider.name });
}

/** The provider's decision about a changed config. @throws {ToolError} what it threw, TIMED_OUT after `timeoutMs` */
export async function decide(
  generation: ProviderGeneration,
  before: ProviderSettings,
  after: ProviderSettings,
  timeoutMs: number,
): Promise<Decision | undefined> {
  const decision = generation.decide(before, after);
  if (await settledWithin([decision], timeoutMs)) return decision;
  throw new ToolError('TIMED_OUT', `shouldRestart() and shouldReinitialize() had not answered after ${timeoutMs} ms.`);
}

/** Transfers the state from the old process to the new. */
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
  if (!(await settledWithin([work], Math.max(0, until - performance.now())))) throw new SwitchTooSlow();
  return work;
}
