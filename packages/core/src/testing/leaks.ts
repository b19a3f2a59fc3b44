// expectNoLeaks: a picture of what the process holds, and a failure when more is held at the end.

import { createHook, executionAsyncId } from 'node:async_hooks';
import { type EventEmitter, getEventListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertOptions, type OptionNames } from '../contract/options.js';
import { watchTemporaryDirectories } from './temporary-directories.js';

/** What {@link expectNoLeaks} looks at beside the process itself. */
export interface LeakOptions {
  /** Emitters and AbortSignals that must have no more listeners than before. `process` is always watched. */
  targets?: readonly (EventEmitter | EventTarget)[];
  /** Directories that must hold no more entries than before, for example where sockets are made. */
  directories?: readonly string[];
  /** How long what is ending may take to be gone, in milliseconds. Default 2,000. */
  graceMs?: number;
}

/** Resources of Node's that somebody has to end. https://nodejs.org/api/async_hooks.html#type */
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
 * Takes a picture of this process; when disposed, fails if there are children, timers (ref'd or not), servers, watchers,
 * temporary directories that it made, entries in `directories`, or listeners on `process` and `targets` that were not
 * there. An array stands for `{ targets }`.
 *
 * @example
 * ```ts
 * await using _ = expectNoLeaks();
 * ```
 */
export function expectNoLeaks(options: LeakOptions | LeakOptions['targets'] = {}): AsyncDisposable {
  if (!isTargets(options)) assertOptions('expectNoLeaks()', options, OPTIONS);
  const { targets = [], directories = [], graceMs = 2_000 } = isTargets(options) ? { targets: options } : options;
  const held = watchResources();
  const temporary = watchTemporaryDirectories();
  const watched = [process as EventEmitter, ...targets];
  const listenersBefore = watched.map(countListeners);
  const before = takePicture(directories);
  // A caller that never disposes must not see an unhandled rejection of the picture.
  before.catch(() => undefined);
  return {
    async [Symbol.asyncDispose]() {
      try {
        const deadline = performance.now() + graceMs;
        for (;;) {
          const leaks = [
            ...held.list(),
            ...newEntries(await before, await takePicture(directories)),
            ...[...temporary.made].filter((path) => existsSync(path)).map((path) => `temporary directory ${path}`),
            ...watched.flatMap((target, index) =>
              moreListeners(target, listenersBefore[index] ?? new Map<string, number>()),
            ),
          ];
          if (leaks.length === 0) return;
          if (performance.now() > deadline)
            throw new Error(`Left behind:\n${leaks.map((leak) => `- ${leak}`).join('\n')}`);
          await held.pause(POLL_MS);
        }
      } finally {
        held.stop();
        temporary.stop();
      }
    },
  };
}

function isTargets(options: LeakOptions | LeakOptions['targets']): options is NonNullable<LeakOptions['targets']> {
  return Array.isArray(options);
}

interface Picture {
  children: readonly string[];
  files: readonly string[];
}

async function takePicture(directories: readonly string[]): Promise<Picture> {
  const files = await Promise.all(
    directories.map(async (directory) => (await entriesOf(directory)).map((name) => join(directory, name))),
  );
  return { children: await childrenOfThisProcess(), files: files.flat() };
}

function newEntries(before: Picture, after: Picture): string[] {
  return [
    ...after.children.filter((child) => !before.children.includes(child)).map((child) => `child process ${child}`),
    ...after.files.filter((file) => !before.files.includes(file)).map((file) => `file ${file}`),
  ];
}

async function entriesOf(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []); // one that is gone holds nothing
}

/** Linux tells the children of each thread (man 5 proc); elsewhere PROCESSWRAP resources show them. */
async function childrenOfThisProcess(): Promise<string[]> {
  const threads = await entriesOf('/proc/self/task');
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/self/task/${thread}/children`, 'utf8').catch(() => '')),
  ); // a thread that ended
  const pids = lists.flatMap((list) => list.split(' ').filter((pid) => pid.trim() !== ''));
  return Promise.all(
    pids.map(
      async (pid) =>
        `${pid} (${(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ').slice(0, 120)})`,
    ),
  );
}

/** Follows resources from their making to their end. */
function watchResources(): { list: () => string[]; pause: (ms: number) => Promise<void>; stop: () => void } {
  const open = new Map<number, { type: string; stack: string }>();
  let own = false;
  const hook = createHook({
    init(id, type) {
      if (own || !HELD_RESOURCES.has(type)) return;
      const stack = callersOf(new Error().stack ?? '');
      if (stack !== undefined) open.set(id, { type, stack });
    },
    // A timer that has fired, and is not repeated, is destroyed too.
    destroy: (id) => void open.delete(id),
  }).enable();
  return {
    list: () =>
      [...open].filter(([id]) => id !== executionAsyncId()).map(([, { type, stack }]) => `${type} made ${stack}`),
    pause: (ms) =>
      new Promise((resolve) => {
        own = true;
        setTimeout(resolve, ms);
        own = false;
      }),
    stop: () => void hook.disable(),
  };
}

/** Where in code that is not the runtime's or the test runner's it was made; undefined for theirs alone. */
function callersOf(stack: string): string | undefined {
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
