// record(): a provider that records what passes through it.

import { resolve } from 'node:path';
import { safeLogger } from '../call/host-callbacks.js';
import { settledWithin } from '../call/waiting.js';
import { ToolError } from '../contract/errors.js';
import { copyJson } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import { WARNING_LOGGER, type Logger } from '../contract/logger.js';
import { assertOptions, shownValue, type OptionNames } from '../contract/options.js';
import { errorResult, type ToolResult } from '../contract/result.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { CallOptions, PreparedCall, Progress, ToolProvider } from '../contract/tool-provider.js';
import { CallRecorder } from '../recording/call-recorder.js';
import { recordedCall } from '../recording/recorded-values.js';
import { recordingHeader, type RecordedCall } from '../recording/recording-format.js';
import { MAX_PENDING_CHARACTERS, RecordingWriter } from '../recording/recording-writer.js';
import { WrappedProvider, type ConnectOptions, type ListingOptions } from './wrapped-provider.js';

/** Options of {@link record}. */
export interface RecordOptions {
  /**
   * The most that waits to be written, in characters. Beyond it the recording ends, and {@link RecordedProvider.flush} rejects.
   * Calls never wait. Default 67,108,864.
   */
  maxPendingCharacters?: number;
  /** Receives the reason when the recording is incomplete. Default: `process.emitWarning`, each text once. */
  logger?: Logger;
}

/** How long a disconnect waits for the last lines. */
const LAST_FLUSH_MS = 5_000;
const OPTIONS: OptionNames<RecordOptions> = { maxPendingCharacters: true, logger: true };

/**
 * A provider whose lists, calls, progress and results are recorded. Made by {@link record}.
 *
 * Its `disconnect` waits up to five seconds until everything is written.
 */
export class RecordedProvider extends WrappedProvider implements ToolProvider {
  readonly #writer: RecordingWriter;
  readonly #recorder: CallRecorder;
  #isDisconnected = false;
  #listing: Promise<void> | undefined;

  /** Use {@link record}. */
  constructor(provider: ToolProvider, file: string, options: RecordOptions = {}) {
    super('record()', provider);
    assertOptions('record()', options, OPTIONS);
    const { maxPendingCharacters = MAX_PENDING_CHARACTERS, logger = WARNING_LOGGER } = options;
    if (typeof file !== 'string' || file === '')
      throw new ToolError('INVALID_ARGUMENT', `record(): \`file\` must be a path, not ${shownValue(file)}.`);
    if (!(maxPendingCharacters > 0))
      throw new ToolError('INVALID_ARGUMENT', 'record(): `maxPendingCharacters` must be above 0.');
    this.#writer = new RecordingWriter({
      target: resolve(file), // the working directory may change
      header: () => recordingHeader(this),
      maxPendingCharacters,
      logger: safeLogger(logger),
    });
    this.#recorder = new CallRecorder(this.#writer);
  }

  override async connect(options?: ConnectOptions): Promise<void> {
    this.#isDisconnected = false;
    await this.inner.connect(options);
    this.#listOnce();
  }

  override async listTools(options?: ListingOptions): Promise<readonly ToolDefinition[]> {
    const tools = await this.inner.listTools(options);
    // A hub lists what its options select; the recording has everything.
    this.#recorder.list(this.kind === 'hub' ? await this.inner.listTools({ includeViewTools: true }) : tools);
    return tools;
  }

  override callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#record(
      () => recordedCall(name, args),
      options,
      (inner) => this.inner.callTool(name, args, inner),
    );
  }

  /** @internal */
  protected override prepare(
    name: string,
    args: JsonObject,
    options?: CallOptions,
  ): PreparedCall | Promise<PreparedCall> {
    let given: unknown = args;
    try {
      given = copyJson(args); // the caller may change them while the call is prepared
    } catch {
      // Cyclic: the call is refused, and recorded as it is.
    }
    const prepared = super.prepare(name, args, options);
    return prepared instanceof Promise
      ? prepared.then((settled) => this.#recordPrepared(name, given, settled))
      : this.#recordPrepared(name, given, prepared);
  }

  override async disconnect(): Promise<void> {
    this.#isDisconnected = true;
    await this.inner.disconnect();
    const flushed = this.flush().catch(() => undefined); // the logger has the reason
    await settledWithin([flushed], LAST_FLUSH_MS);
  }

  override onToolsChanged(listener: () => void): () => void {
    return super.onToolsChanged(() => {
      this.#recorder.changed();
      listener();
    });
  }

  /** Resolves when everything so far is written. @throws {ToolError} why the recording is incomplete */
  async flush(): Promise<void> {
    await this.#listing;
    await this.#writer.flush();
  }

  #recordPrepared(name: string, given: unknown, prepared: PreparedCall): PreparedCall {
    if (this.#isDisconnected) return prepared;
    const sent = this.#recorder.prepared(name, given, prepared);
    if (prepared.refused) return prepared;
    return {
      ...prepared,
      execute: (options) =>
        this.#record(
          () => sent,
          options,
          (inner) => prepared.execute(inner),
        ),
    };
  }

  /** Calls after a disconnect run nothing, and are not recorded. */
  async #record(
    called: () => RecordedCall,
    options: CallOptions | undefined,
    run: (options: CallOptions | undefined) => Promise<ToolResult>,
  ): Promise<ToolResult> {
    if (this.#isDisconnected) return run(options);
    const call = this.#recorder.start(called());
    const onProgress = (progress: Progress): void => {
      call.progress(progress);
      options?.onProgress?.(progress);
    };
    try {
      const result = await run({ ...options, onProgress });
      call.settle(result);
      this.#listOnce();
      return result;
    } catch (thrown) {
      call.settle(errorResult(ToolError.from(thrown, 'INTERNAL'), performance.now()));
      throw thrown;
    }
  }

  /** A recording has a list of tools even if its caller reads none. */
  #listOnce(): void {
    if (this.#recorder.hasList || this.#isDisconnected) return;
    this.#listing ??= this.listTools()
      .then(() => undefined)
      .catch(() => undefined) // the next call tries again
      .finally(() => (this.#listing = undefined));
  }
}

/**
 * Wraps a provider so that its lists of tools, calls, progress and results are written to a file as they happen, for
 * {@link ReplayToolProvider}. Secrets are redacted by name and by shape. The file is replaced, and only this user can read it.
 * Calls never wait for the disk, and a disk that fails does not make them fail: see {@link RecordedProvider.flush}.
 *
 * @param file a path; its directory must exist
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 * @example
 * ```ts
 * await using provider = record(new MCPToolProvider({ name: 'docs', url }), 'docs.ndjson');
 * ```
 */
export function record(provider: ToolProvider, file: string, options: RecordOptions = {}): RecordedProvider {
  return new RecordedProvider(provider, file, options);
}
