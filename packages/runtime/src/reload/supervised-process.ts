// superviseProcess(): supervises a provider file, and reloads it when it or its config changes.

import { stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { resolve } from 'node:path';
import { ToolError, type JsonObject, type Logger } from '@toolwright/core';
import { assertOptions, SILENT_LOGGER, type OptionNames } from '@toolwright/core/internal';
import { ProcessToolProvider } from '../process/process-provider.js';
import { PROCESS_OPTIONS, settingsOf, type ProcessToolProviderOptions } from '../process/process-provider-options.js';
import { SUPERVISE_OPTIONS, type SuperviseOptions } from '../supervise/supervisor-options.js';
import { SupervisedToolProvider } from '../supervise/supervisor.js';
import type { ProviderSettings } from '../wire/protocol.js';
import {
  actionFor,
  assertChangeAnalysis,
  changedPaths,
  type ChangeAnalysis,
  type ConfigAction,
} from './config-change.js';
import { readImportGraph, type SourceFault } from './import-graph.js';
import { placeFault } from './source-place.js';
import { decide, reinitialize, switchGenerations } from './switch-generations.js';
import { DEBOUNCE_MS, FileWatch } from './watch.js';

/** Options of {@link superviseProcess}: those of the process and those of its supervision. */
export interface SuperviseProcessOptions extends ProcessToolProviderOptions, SuperviseOptions {
  name: string;
  /** Whether to reload the provider when its file, or a file that it imports, changes. Requires `path`. Default false. */
  watch?: boolean;
  /** What a changed config requires, unless the provider decides itself. Default: another `initialize`. */
  changeAnalysis?: ChangeAnalysis;
}

/** The delay before a postponed reload is retried; it increases with each retry. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** The resolution of file times, in milliseconds. */
const COARSE_MS = 20;
const CONFIG_TRIES = 3;
/** How long a provider may take to decide about a changed config. */
const ANSWER_MS = 5_000;
const DEFAULT_START_TIMEOUT_MS = 15_000;

const OF_SUPERVISION = [
  'idleTtlMs',
  'healthIntervalMs',
  'healthTimeoutMs',
  'failureThreshold',
  'maxConcurrent',
  'maxQueue',
  'maxStarts',
  'startWindowMs',
  'backoff',
] as const;
const OF_BOTH = ['name', 'callTimeoutMs', 'startTimeoutMs', 'trustAnnotations'] as const;

const OPTIONS: OptionNames<SuperviseProcessOptions> = {
  ...PROCESS_OPTIONS,
  ...SUPERVISE_OPTIONS,
  watch: true,
  changeAnalysis: true,
};

/** Shared by the constructor and the function that creates processes. */
interface Current {
  process: ProcessToolProvider | undefined;
  settings: ProviderSettings;
  logger: Logger;
}

/** A supervised provider process. Made by {@link superviseProcess}. */
export class SupervisedProcess extends SupervisedToolProvider {
  readonly #current: Current;
  readonly #path: string | undefined;
  readonly #watches: boolean;
  readonly #analysis: ChangeAnalysis;
  readonly #startTimeoutMs: number;
  /** Parts of the state reported as not exportable, each once. */
  readonly #reportedPaths = new Set<string>();
  /** The queue of reloads and config changes. */
  #work: Promise<unknown> = Promise.resolve();
  #lifetime = new AbortController();
  #watch: FileWatch | undefined;
  #watching: Promise<void> = Promise.resolve();
  #failing: Promise<void> = Promise.resolve();
  #files: ReadonlySet<string>;
  /** The number of file changes noticed. */
  #changes = 0;
  /** True while a reload is queued; it includes all changes until it starts. */
  #isWaiting = false;
  #retry: NodeJS.Timeout | undefined;
  #retries = 0;

  /** Use {@link superviseProcess}. */
  constructor(options: SuperviseProcessOptions) {
    assertOptions('superviseProcess()', options, OPTIONS);
    const { watch = false, changeAnalysis = {}, logger, ...rest } = options;
    assertChangeAnalysis(changeAnalysis);
    const supervision: Record<string, unknown> = { ...(logger && { logger }) };
    const process: Record<string, unknown> = { ...rest };
    for (const key of OF_BOTH) if (rest[key] !== undefined) supervision[key] = rest[key];
    for (const key of OF_SUPERVISION) {
      if (rest[key] !== undefined) supervision[key] = rest[key];
      delete process[key];
    }
    const current: Current = { process: undefined, settings: settingsOf(options), logger: SILENT_LOGGER };
    const forward: Logger = {
      debug: (...line) => current.logger.debug(...line),
      info: (...line) => current.logger.info(...line),
      warn: (...line) => current.logger.warn(...line),
      error: (...line) => current.logger.error(...line),
    };
    super(() => {
      const { config, variables } = current.settings;
      const given = { ...process, config, variables, logger: forward } as unknown as ProcessToolProviderOptions;
      return (current.process = new ProcessToolProvider(given));
    }, supervision);
    current.logger = this.logger;
    this.#current = current;
    this.#analysis = changeAnalysis;
    this.#watches = watch;
    this.#startTimeoutMs = options.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS;
    const { path, projectDir, cwd = projectDir ?? globalThis.process.cwd() } = options;
    if (watch && path === undefined)
      throw new ToolError('INVALID_ARGUMENT', 'watch needs path: the sources of a command are unknown.');
    this.#path = path === undefined ? undefined : resolve(cwd, path);
    this.#files = new Set(this.#path === undefined ? [] : [this.#path]);
    if (watch) this.on('stateChanged', ({ to }) => to === 'INITIALIZING' && this.#openWatch());
  }

  /** The number of the current process; undefined while none runs. */
  get pid(): number | undefined {
    return this.#current.process?.pid;
  }

  /**
   * Replaces the running process by a new one, with its state. Does nothing while none runs: the next start is a new
   * one.
   *
   * @throws {ToolError} why the new process did not start, while the old one continues; UNAVAILABLE when calls would
   *   have been held for too long
   */
  async reload(): Promise<void> {
    await this.#inTurn(async () => {
      if ((await this.#switch()) === 'postponed')
        throw new ToolError('UNAVAILABLE', `The provider "${this.name}" was too busy to be reloaded; try again.`);
    });
  }

  /**
   * Sets another config, and other variables if given. The provider decides, then `changeAnalysis`, whether that
   * requires a new process or another `initialize`; by default it is initialized again. Returns what was done. A
   * provider that does not run is started with it.
   *
   * @throws {ToolError} INVALID_ARGUMENT for an invalid config; what the provider threw, which then keeps the previous
   *   one
   */
  async setConfig(
    config: JsonObject,
    variables: Readonly<Record<string, string>> = this.#current.settings.variables,
  ): Promise<ConfigAction> {
    const after = settingsOf({ config, variables });
    return this.#inTurn(() => this.#change(after));
  }

  override async disconnect(): Promise<void> {
    this.#lifetime.abort(new ToolError('NOT_CONNECTED', `The provider "${this.name}" was disconnected.`));
    this.#lifetime = new AbortController();
    this.#isWaiting = false; // a queued reload is rejected
    clearTimeout(this.#retry);
    const watch = this.#watch;
    this.#watch = undefined;
    await Promise.all([super.disconnect(), watch?.close(), this.#watching, this.#work, this.#failing]);
  }

  // The queue.

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#lifetime;
    const turn = this.#work.then(async () => {
      if (signal.aborted) throw ToolError.from(signal.reason);
      await this.#whenSettled();
      return work();
    });
    this.#work = turn.catch(() => undefined); // its caller receives the error
    return turn;
  }

  /** Waits for a start in progress. */
  async #whenSettled(): Promise<void> {
    if (this.state !== 'INITIALIZING') return;
    await new Promise<void>((resolve) => {
      const unsubscribe = this.on('stateChanged', ({ to }) => {
        if (to === 'INITIALIZING') return;
        unsubscribe();
        resolve();
      });
    });
  }

  async #switch(): Promise<'switched' | 'postponed' | 'not running'> {
    const { process } = this.#current;
    if (!process || this.state !== 'READY') {
      this.forgive(); // the cause of a failure may be fixed now
      return 'not running';
    }
    const { signal } = this.#lifetime;
    this.emit('reloading', {});
    const outcome = await switchGenerations({
      provider: process,
      signal,
      logger: this.logger,
      onDropped: (paths) => this.#reportDropped(paths),
    });
    if (outcome === 'switched') this.emit('reloaded', { generation: this.countGeneration() });
    return outcome;
  }

  #reportDropped(paths: readonly string[]): void {
    const unreported = paths.filter((path) => !this.#reportedPaths.has(path));
    for (const path of unreported) this.#reportedPaths.add(path);
    if (unreported.length === 0) return;
    const words = `The state of "${this.name}" has parts that JSON cannot represent, which initialize() must create again: ${unreported.join(', ')}.`;
    this.logger.warn(words);
  }

  // A changed config.

  async #change(after: ProviderSettings): Promise<ConfigAction> {
    const current = this.#current;
    const { process, settings: before } = current;
    const changed = [
      ...changedPaths(before.config, after.config),
      ...changedPaths(before.variables, after.variables, 'variables'),
    ];
    const generation = this.state === 'READY' ? process?.generation : undefined;
    if (!process || !generation || changed.length === 0) {
      current.settings = after;
      if (process) process.settings = after;
      if (changed.length > 0) this.forgive();
      return changed.length === 0 ? 'nothing' : 'restart';
    }
    const action = actionFor(changed, await decide(generation, before, after, ANSWER_MS), this.#analysis);
    process.settings = after;
    try {
      if (action === 'restart') await this.#restart();
      else if (action === 'reinitialize') await reinitialize(process, generation, this.#startTimeoutMs);
    } catch (thrown) {
      process.settings = before;
      // An initialize that timed out may still take effect, so the previous config is applied after it.
      if (action === 'reinitialize') void generation.initialize(before, null, 'config').catch(() => undefined);
      throw thrown;
    }
    current.settings = after;
    return action;
  }

  async #restart(): Promise<void> {
    for (let tries = 1; tries <= CONFIG_TRIES; tries++) if ((await this.#switch()) !== 'postponed') return;
    throw new ToolError('UNAVAILABLE', `The provider "${this.name}" was too busy to be restarted; try again.`);
  }

  // Changed files.

  #openWatch(): void {
    if (!this.#watches || this.#watch || this.#path === undefined) return;
    const watch = (this.#watch = new FileWatch(
      () => this.#reloadSoon(),
      (message) => this.logger.warn(`The files of "${this.name}" cannot be watched: ${message}`),
    ));
    const seen = this.#changes;
    this.#watching = this.#watchAll(watch, Date.now()).catch((thrown: unknown) => this.#reportFailure(thrown, seen));
  }

  /** The file itself is watched immediately, its imports when they are known, with the changes until then. */
  async #watchAll(watch: FileWatch, since: number): Promise<void> {
    await watch.watch(this.#files);
    if (!(await this.#readGraph(watch)) || this.#watch !== watch) return;
    if (await haveChanged(this.#files, since)) this.#reloadSoon();
  }

  /** True when the sources can be loaded; they are watched in any case. */
  async #readGraph(watch: FileWatch): Promise<boolean> {
    const { signal } = this.#lifetime;
    const seen = this.#changes;
    const since = Date.now();
    const graph = await readImportGraph(this.#path as string, signal).catch((thrown: unknown) => {
      if (!signal.aborted) this.#reportUnread(ToolError.from(thrown).message);
      return { files: this.#files, fault: undefined };
    });
    const { files, fault } = graph;
    await watch.watch(fault ? new Set([...this.#files, ...files]) : new Set([this.#path as string, ...files]));
    if (fault) {
      // A missing file may have been created before it was watched.
      if (await haveChanged(files, since)) this.#reloadSoon();
      await this.#reportFault(fault, seen);
    } else this.#files = new Set([this.#path as string, ...files]); // the path may be a link to one
    return fault === undefined;
  }

  /** Without the import graph, only the provider file is watched, and errors show when it is loaded. */
  #reportUnread(why: string): void {
    this.logger.warn(`The imports of "${this.name}" are unknown and not watched: ${why}`);
  }

  #reloadSoon(): void {
    this.#changes++;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    let seen = this.#changes;
    const reload = async (): Promise<void> => {
      this.#isWaiting = false;
      seen = this.#changes;
      const watch = this.#watch;
      if (!watch || !(await this.#readGraph(watch))) return;
      if ((await this.#switch()) !== 'postponed') {
        this.#retries = 0;
        return;
      }
      const ms = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#retries++);
      this.logger.info(
        `The reload of "${this.name}" is postponed by ${ms} ms: its calls would have waited for too long.`,
      );
      this.#retry = globalThis.setTimeout(() => this.#reloadSoon(), ms).unref();
    };
    this.#failing = this.#inTurn(reload).catch((thrown: unknown) => this.#reportFailure(thrown, seen));
  }

  /**
   * A file may be read in the middle of a save. A fault in such a version is not reported: by then its next change has
   * been noticed.
   *
   * @param seen the changes that the version includes
   */
  async #reportFault(fault: SourceFault, seen: number): Promise<void> {
    await setTimeout(DEBOUNCE_MS);
    if (seen === this.#changes && !this.#watch?.isPending) this.emit('reloadFailed', fault);
  }

  async #reportFailure(thrown: unknown, seen: number): Promise<void> {
    const error = ToolError.from(thrown);
    if (error.code === 'NOT_CONNECTED' || error.code === 'CANCELLED') return; // disconnected meanwhile
    const stderr = error.details?.stderr;
    const fault = placeFault(error.message, typeof stderr === 'string' ? stderr : error.message, this.#files);
    this.logger.warn(
      `The provider "${this.name}" was not reloaded; the previous version still serves: ${error.message}`,
    );
    await this.#reportFault(fault, seen);
  }
}

/** @param since in milliseconds since 1970; a file of the moment before counts, as clocks of file systems are coarse */
async function haveChanged(files: Iterable<string>, since: number): Promise<boolean> {
  const times = await Promise.all(Array.from(files, (file) => stat(file).catch(() => undefined))); // may be missing
  return times.some((found) => found && found.mtimeMs > since - COARSE_MS);
}

/**
 * Supervises a provider file in a process of its own: {@link supervise} and `ProcessToolProvider` in one. With `watch:
 * true` a changed file starts another process beside the running one, which receives its state and its calls when it is
 * ready; if it does not start, the old one continues and an event reports why.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 * @example
 * ```ts
 * await using notes = superviseProcess({ name: 'notes', path: 'notes.ts', cwd: projectDir, watch: true });
 * notes.on('reloadFailed', ({ file, line, message }) => console.error(`${file}:${line}: ${message}`));
 * ```
 */
export function superviseProcess(options: SuperviseProcessOptions): SupervisedProcess {
  return new SupervisedProcess(options);
}
