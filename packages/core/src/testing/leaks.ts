// expectNoLeaks(): records what the process holds open, and fails if it holds more at the end.

import { createHook, executionAsyncId } from 'node:async_hooks';
import { type EventEmitter, getEventListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertOptions, type OptionNames } from '../contract/options.js';
import { watchTemporaryDirectories } from './temporary-directories.js';

/** Options of {@link expectNoLeaks}: what it checks besides the process. */
export interface LeakOptions {
  /** Emitters and AbortSignals that must not gain listeners. `process` is always included. Default: none. */
  targets?: readonly (EventEmitter | EventTarget)[];
  /** Directories that must not gain entries, for example where sockets are created. Default: none. */
  directories?: readonly string[];
  /** How long resources may take to end after the disposal, in milliseconds. Default 2,000. */
  graceMs?: number;
}

/** Node's resources that must be ended explicitly. https://nodejs.org/api/async_hooks.html#type */
const HELD_RESOURCES: ReadonlySet<string> = new Set([
  'Timeout',
  'PROCESSWRAP',
  'PIPESERVERWRAP',
  'TCPSERVERWRAP',
  'FSEVENTWRAP',
  'STATWATCHER',
  'WORKER',
]);
const POLL_MS = 20;
const OPTIONS: OptionNames<LeakOptions> = { targets: true, directories: true, graceMs: true };

/**
 * Records the resources of this process and, when disposed, rejects if there are new ones: child processes, timers (ref'd
 * or not), servers, watchers, temporary directories, entries in `directories`, listeners on `process` and `targets`. An
 * array is short for `{ targets }`.
 *
 * @throws {ToolError} INVALID_ARGUMENT for an unknown option
 *
 * @example
 * ```ts
 * await using _ = expectNoLeaks();
 * ```
 */
export function expectNoLeaks(options: LeakOptions | LeakOptions['targets'] = {}): AsyncDisposable {
  if (!isTargets(options)) assertOptions('expectNoLeaks()', options, OPTIONS);
  const { targets = [], directories = [], graceMs = 2_000 } = isTargets(options) ? { targets: options } : options;
  const resources = watchResources();
  const temporary = watchTemporaryDirectories();
  const watched = [process as EventEmitter, ...targets];
  const listenersBefore = watched.map(countListeners);
  const before = takeSnapshot(directories);
  // Without a disposal nothing else handles a rejection.
  before.catch(() => undefined);
  return {
    async [Symbol.asyncDispose]() {
      try {
        const deadline = performance.now() + graceMs;
        for (;;) {
          const leaks = [
            ...resources.list(),
            ...newEntries(await before, await takeSnapshot(directories)),
            ...[...temporary.created].filter((path) => existsSync(path)).map((path) => `temporary directory ${path}`),
            ...watched.flatMap((target, index) =>
              moreListeners(target, listenersBefore[index] ?? new Map<string, number>()),
            ),
          ];
          if (leaks.length === 0) return;
          if (performance.now() > deadline)
            throw new Error(`Left behind:\n${leaks.map((leak) => `- ${leak}`).join('\n')}`);
          await resources.pause(POLL_MS);
        }
      } finally {
        resources.stop();
        temporary.stop();
      }
    },
  };
}

function isTargets(options: LeakOptions | LeakOptions['targets']): options is NonNullable<LeakOptions['targets']> {
  return Array.isArray(options);
}

interface Snapshot {
  children: readonly string[];
  files: readonly string[];
}

async function takeSnapshot(directories: readonly string[]): Promise<Snapshot> {
  const files = await Promise.all(
    directories.map(async (directory) => (await entriesOf(directory)).map((name) => join(directory, name))),
  );
  return { children: await childrenOfThisProcess(), files: files.flat() };
}

function newEntries(before: Snapshot, after: Snapshot): string[] {
  return [
    ...after.children.filter((child) => !before.children.includes(child)).map((child) => `child process ${child}`),
    ...after.files.filter((file) => !before.files.includes(file)).map((file) => `file ${file}`),
  ];
}

async function entriesOf(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []); // it was deleted
}

/** Linux lists the children of each thread (man 5 proc); on other platforms PROCESSWRAP resources reveal them. */
async function childrenOfThisProcess(): Promise<string[]> {
  const threads = await entriesOf('/proc/self/task');
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/self/task/${thread}/children`, 'utf8').catch(() => '')),
  ); // the thread has ended
  const pids = lists.flatMap((list) => list.split(' ').filter((pid) => pid.trim() !== ''));
  return Promise.all(
    pids.map(
      async (pid) =>
        `${pid} (${(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ').slice(0, 120)})`,
    ),
  );
}

/** Tracks resources from their creation to their end. */
function watchResources(): { list: () => string[]; pause: (ms: number) => Promise<void>; stop: () => void } {
  const open = new Map<number, { type: string; stack: string }>();
  let isPausing = false;
  const hook = createHook({
    init(id, type) {
      if (isPausing || !HELD_RESOURCES.has(type)) return;
      const stack = callersIn(new Error().stack ?? '');
      if (stack !== undefined) open.set(id, { type, stack });
    },
    // A timer that has fired, and is not repeated, is destroyed too.
    destroy: (id) => void open.delete(id),
  }).enable();
  return {
    list: () =>
      [...open].filter(([id]) => id !== executionAsyncId()).map(([, { type, stack }]) => `${type} created ${stack}`),
    pause: (ms) =>
      new Promise((resolve) => {
        isPausing = true;
        setTimeout(resolve, ms);
        isPausing = false;
      }),
    stop: () => void hook.disable(),
  };
}

/** The frames of a stack outside Node and the test runner; undefined if there are none. */
function callersIn(stack: string): string | undefined {
  const frames = stack
    .split('\n')
    .slice(1)
    .filter(
      (frame) =>
        !/node:internal|node:async_hooks|testing[/\\]leaks\.|node_modules[/\\](@?vitest|tinyrpc|birpc|tinypool)/.test(
          frame,
        ),
    )
    .filter((frame) => /[/\\]|file:/.test(frame));
  return frames.length === 0
    ? undefined
    : frames
        .slice(0, 4)
        .map((frame) => frame.trim())
        .join(' < ');
}

type ListenerCounts = Map<string | symbol, number>;

function countListeners(target: EventEmitter | EventTarget): ListenerCounts {
  if (target instanceof EventTarget) return new Map([['abort', getEventListeners(target, 'abort').length]]);
  return new Map(target.eventNames().map((name) => [name, target.listenerCount(name)]));
}

function moreListeners(target: EventEmitter | EventTarget, before: ListenerCounts): string[] {
  const name = target === process ? 'process' : target.constructor.name;
  return [...countListeners(target)]
    .filter(([event, count]) => count > (before.get(event) ?? 0))
    .map(([event, count]) => `${count - (before.get(event) ?? 0)} listener(s) for "${String(event)}" on ${name}`);
}
