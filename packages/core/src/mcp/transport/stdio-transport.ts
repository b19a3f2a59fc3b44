// MCP over the stdin and stdout of a child process. The child leads a process group, which ends with the transport.

import { valueWithin } from '../../call/waiting.js';
import { ToolError } from '../../contract/errors.js';
import type { Child } from '../../process/index.js';
import { spawnChild } from '../../process/index.js';
import { FrameReader, frameOf } from './frames.js';
import { lastText, withoutSecrets } from '../../contract/sanitize.js';
import { MAX_UNSENT_BYTES, MESSAGE_BYTES, type SessionTransport, type McpMessage } from './transport.js';

/** Options of {@link StdioTransport}. */
export interface StdioTransportOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  /** Added to the safe part of the environment. */
  env: Readonly<Record<string, string>>;
  maxFrameBytes: number;
  /** The time between the end of stdin and SIGTERM, in milliseconds. */
  shutdownTimeoutMs: number;
  /** Receives warnings about the first lines on stdout that are not messages. */
  warn: (message: string) => void;
  /** Called when the whole group has ended. */
  afterEnd?: (() => Promise<void>) | undefined;
}

/** How long to read the pipe after the program has exited. */
const DRAIN_MS = 250;
/** The time between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000;
const MAX_LINE_WARNINGS = 3;

export class StdioTransport implements SessionTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: SessionTransport['onmessage'];
  failure: ToolError | undefined;
  readonly #options: StdioTransportOptions;
  #child: Child | undefined;
  #reader: FrameReader | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;
  #badLines = 0;
  /** The number of messages that wait to be written. */
  #unsent = 0;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  get stderrNote(): string | undefined {
    const stderr = this.#stderr();
    return stderr === '' ? undefined : `Its stderr ends: ${stderr}`;
  }

  async start(): Promise<void> {
    const { command, args, cwd, env, maxFrameBytes } = this.#options;
    const child = (this.#child = spawnChild({ command, args, cwd, extraEnv: env, stdin: 'pipe' }));
    const reader = (this.#reader = new FrameReader(
      {
        onMessage: (message) => this.onmessage?.(message),
        onBatch: (messages) => this.onmessage?.(messages),
        onUnparseable: (_reason, line) => this.#warnOfLine(line),
      },
      { maxFrameBytes },
    ));
    child.stdout.on('data', (chunk: Buffer) => {
      if (this.#closed || this.failure) return;
      try {
        reader.push(chunk);
      } catch (thrown) {
        this.#fail(ToolError.from(thrown, 'INTERNAL'));
      }
    });
    const read = new Promise<void>((resolve) => child.stdout.once('close', resolve));
    if (child.pid === undefined) {
      await child.exited; // rejects with the reason
      return;
    }
    void this.#watch(child, read);
  }

  send(message: McpMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin || this.#closed || this.failure) {
      return Promise.reject(this.failure ?? new ToolError('CONNECTION_CLOSED', 'The server is closed.'));
    }
    if (stdin.writableLength + this.#unsent * MESSAGE_BYTES > MAX_UNSENT_BYTES) {
      const text = `The server does not read its stdin: ${stdin.writableLength} bytes are waiting.`;
      return Promise.reject(new ToolError('BUSY', text));
    }
    // Not awaited: the exit of the server is more informative than EPIPE.
    this.#unsent++;
    stdin.write(frameOf(message), (error) => {
      this.#unsent--;
      if (error) void this.#whenUnwritable();
    });
    return Promise.resolve();
  }

  /**
   * Closes stdin, then ends what remains of the process group. Resolves when all of it has ended.
   * https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#stdio
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#end());
  }

  /** Waits for the exit, or for a stdout that is closed while the program still runs. */
  async #watch(child: Child, read: Promise<void>): Promise<void> {
    const first = await Promise.race([child.exited.then(() => 'exit' as const), read.then(() => 'eof' as const)]);
    if (first === 'exit') await valueWithin(read, DRAIN_MS); // reads what is left in the pipe
    const exit = await valueWithin(child.exited, first === 'exit' ? 0 : DRAIN_MS);
    if (this.#closed || this.failure) return;
    const { command } = this.#options;
    const note = this.stderrNote ?? 'It wrote nothing to stderr.';
    if (exit) {
      const how = exit.signal ? `was ended by ${exit.signal}` : `exited with code ${exit.code}`;
      this.#fail(
        new ToolError('PROCESS_EXITED', `"${command}" ${how}. ${note}`, {
          details: { exitCode: exit.code, signal: exit.signal, stderr: this.#stderr() },
        }),
      );
    } else this.#fail(new ToolError('CONNECTION_CLOSED', `"${command}" closed its stdout but still runs. ${note}`));
  }

  /** The program closed its stdin; a failure unless it exits. */
  async #whenUnwritable(): Promise<void> {
    const { command } = this.#options;
    if (this.#child && (await valueWithin(this.#child.exited, DRAIN_MS))) return;
    if (this.#closed || this.failure) return;
    this.#fail(new ToolError('CONNECTION_CLOSED', `"${command}" closed its stdin but still runs.`));
  }

  #fail(failure: ToolError): void {
    this.failure ??= failure;
    this.#emitClose(); // before the group has ended
    void this.close();
  }

  async #end(): Promise<void> {
    await this.#child?.end({ askMs: this.#options.shutdownTimeoutMs, graceMs: GRACE_MS });
    await this.#options.afterEnd?.();
    this.#emitClose();
  }

  #emitClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reader?.stop();
    this.onclose?.();
  }

  #stderr(): string {
    const { env } = this.#options;
    return lastText(withoutSecrets(this.#child?.stderrTail() ?? '', Object.values(env)));
  }

  #warnOfLine(line: string): void {
    if (++this.#badLines > MAX_LINE_WARNINGS) return;
    const { warn, command, env } = this.#options;
    const last = this.#badLines === MAX_LINE_WARNINGS ? ' Further such lines are not reported.' : '';
    const shown = lastText(withoutSecrets(line, Object.values(env)), 120);
    warn(`"${command}" wrote a line to stdout that is not JSON-RPC: ${shown}${last}`);
  }
}
