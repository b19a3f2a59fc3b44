// MCP over a child's stdin and stdout. The child leads a process group of its own, and all of it ends with the link.

import { valueWithin } from '../../call/waiting.js';
import { ToolError } from '../../contract/errors.js';
import type { Child } from '../../process/index.js';
import { spawnChild } from '../../process/index.js';
import { FrameReader, frameOf } from './frames.js';
import { lastWords, withoutSecrets } from '../tools/sanitize.js';
import { MAX_UNSENT_BYTES, MESSAGE_BYTES, type LinkTransport, type McpMessage } from './transport.js';

/** What a stdio link starts. */
export interface StdioLinkOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  /** Added to the safe list. */
  env: Readonly<Record<string, string>>;
  maxFrameBytes: number;
  /** From the end of its stdin to SIGTERM, in milliseconds. */
  shutdownTimeoutMs: number;
  /** Told of what was printed to stdout and is no message; the first few lines only. */
  warn: (message: string) => void;
  /** Run when the whole group has ended, whatever came before. */
  afterEnd?: (() => Promise<void>) | undefined;
}

/** How long answers that are in the pipe may still be read when the program has exited. */
const DRAIN_MS = 250;
/** From SIGTERM to SIGKILL. */
const GRACE_MS = 2_000;
const MAX_LINE_WARNINGS = 3;

export class StdioLink implements LinkTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: LinkTransport['onmessage'];
  failure: ToolError | undefined;
  readonly #options: StdioLinkOptions;
  #child: Child | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;
  #badLines = 0;
  /** Messages that wait to be written. */
  #unsent = 0;

  constructor(options: StdioLinkOptions) {
    this.#options = options;
  }

  get remarks(): string | undefined {
    const words = this.#stderr();
    return words === '' ? undefined : `Its stderr ends: ${words}`;
  }

  async start(): Promise<void> {
    const { command, args, cwd, env, maxFrameBytes } = this.#options;
    const child = (this.#child = spawnChild({ command, args, cwd, extraEnv: env, stdin: 'pipe' }));
    const reader = new FrameReader(
      {
        onMessage: (message) => this.onmessage?.(message),
        onBatch: (messages) => this.onmessage?.(messages),
        onUnparseable: (_reason, line) => this.#warnOfLine(line),
      },
      { maxFrameBytes },
    );
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
      await child.exited; // rejects with why it was not started
      return;
    }
    void this.#watch(child, read);
  }

  send(message: McpMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin || this.#closed || this.failure) {
      return Promise.reject(this.failure ?? new ToolError('CONNECTION_CLOSED', 'The server has been ended.'));
    }
    if (stdin.writableLength + this.#unsent * MESSAGE_BYTES > MAX_UNSENT_BYTES) {
      const words = `The server reads nothing: ${stdin.writableLength} bytes wait for it already.`;
      return Promise.reject(new ToolError('BUSY', words));
    }
    // Not awaited: a server that has gone is told by its exit, which knows more than EPIPE does.
    this.#unsent++;
    stdin.write(frameOf(message), (error) => {
      this.#unsent--;
      if (error) void this.#whenUnwritable();
    });
    return Promise.resolve();
  }

  /**
   * Closes stdin, then ends what has not ended by itself, the whole group. Resolves when it is gone.
   * https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#stdio
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#end());
  }

  /** Waits for the first sign of the end: the exit, or a stdout that is closed while the program runs on. */
  async #watch(child: Child, read: Promise<void>): Promise<void> {
    const first = await Promise.race([child.exited.then(() => 'exit' as const), read.then(() => 'eof' as const)]);
    if (first === 'exit') await valueWithin(read, DRAIN_MS); // answers that are in the pipe already
    const exit = await valueWithin(child.exited, first === 'exit' ? 0 : DRAIN_MS);
    if (this.#closed || this.failure) return;
    const { command } = this.#options;
    const words = this.remarks === undefined ? 'It wrote nothing to stderr.' : this.remarks;
    if (exit) {
      const how = exit.signal ? `was ended by ${exit.signal}` : `exited with code ${exit.code}`;
      this.#fail(
        new ToolError('PROCESS_EXITED', `"${command}" ${how}. ${words}`, {
          details: { exitCode: exit.code, signal: exit.signal, stderr: this.#stderr() },
        }),
      );
    } else this.#fail(new ToolError('CONNECTION_CLOSED', `"${command}" closed its stdout and runs on. ${words}`));
  }

  /** It reads no more, and does not end either. */
  async #whenUnwritable(): Promise<void> {
    const { command } = this.#options;
    if (this.#child && (await valueWithin(this.#child.exited, DRAIN_MS))) return;
    if (this.#closed || this.failure) return;
    this.#fail(new ToolError('CONNECTION_CLOSED', `"${command}" closed its stdin and runs on.`));
  }

  #fail(failure: ToolError): void {
    this.failure ??= failure;
    this.#tellClosed(); // whoever waits is told before the group has ended
    void this.close();
  }

  async #end(): Promise<void> {
    await this.#child?.end({ askMs: this.#options.shutdownTimeoutMs, graceMs: GRACE_MS });
    await this.#options.afterEnd?.();
    this.#tellClosed();
  }

  #tellClosed(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  #stderr(): string {
    const { env } = this.#options;
    return lastWords(withoutSecrets(this.#child?.stderrTail() ?? '', Object.values(env)));
  }

  #warnOfLine(line: string): void {
    if (++this.#badLines > MAX_LINE_WARNINGS) return;
    const { warn, command, env } = this.#options;
    const last = this.#badLines === MAX_LINE_WARNINGS ? ' Further such lines are not reported.' : '';
    const shown = lastWords(withoutSecrets(line, Object.values(env)), 120);
    warn(`"${command}" wrote a line to stdout that is not JSON-RPC: ${shown}${last}`);
  }
}
