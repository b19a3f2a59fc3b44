// Starts programs, each in its own process group, with an allow-listed environment and streams that cannot crash the host.
// kill-ladder.ts ends them. No other module may import node:child_process.

import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { messageOf, ToolError } from '../contract/errors.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import { allowedEnvironment } from './environment.js';
import { KillLadder, type EndOptions } from './kill-ladder.js';
import { ProcessFamily } from './process-family.js';
import { ProcessGroup } from './process-group.js';
import { StreamTail } from './stream-tail.js';
import { MARK_VARIABLE } from './stray-processes.js';
import { HOST_MARK_VARIABLE, watchdog } from './watchdog.js';

const DEFAULT_STDERR_TAIL_BYTES = 8 * 1024;

/** Options of {@link spawnChild}. */
export interface SpawnOptions {
  /** The program: an absolute path, or a name on the child's PATH. Never interpreted by a shell. */
  command: string;
  /** Its arguments, passed unchanged. Default: none. */
  args?: readonly string[];
  /** The working directory. Required, as Toolwright does not depend on the host's. */
  cwd: string;
  /** The whole environment, except for the host's mark. Default: the allow-listed part of the host's (PATH, HOME, LANG, LC_*, TERM, TZ, ...). */
  env?: Readonly<Record<string, string>>;
  /** Variables added to `env`, replacing those of the same name. Default: none. */
  extraEnv?: Readonly<Record<string, string>>;
  /** `'pipe'` to write to its stdin; with `'ignore'` it reads the end of file. Default: `'ignore'`. */
  stdin?: 'pipe' | 'ignore';
  /** Ends the child as {@link Child.end} does when aborted. If it is already aborted, nothing is started. */
  signal?: AbortSignal | undefined;
  /** How much of the end of stderr {@link Child.stderrTail} returns, in bytes. Default: 8 KiB. */
  stderrTailBytes?: number;
  /**
   * A unique text, set in the environment as `TOOLWRIGHT_MARK`. On Linux, {@link Child.end}, {@link Child.signal} and
   * {@link Child.runningPids} then include processes that left the group, found by the mark or by descent. A process that
   * leaves the session and clears its environment is not found. Default: none.
   */
  mark?: string | undefined;
  /**
   * The program is a sandbox with its own PID namespace, whose end kills every process in it. Signals except SIGKILL are
   * then sent to the processes in it. Linux only. Default: false.
   */
  isSandbox?: boolean | undefined;
}

const SPAWN_OPTIONS: OptionNames<SpawnOptions> = {
  command: 'text',
  args: 'array',
  cwd: true,
  env: 'object',
  extraEnv: 'object',
  stdin: true,
  signal: true,
  stderrTailBytes: true,
  mark: 'text',
  isSandbox: 'boolean',
};

/** How a child ended: its exit code, or the signal that killed it. */
export interface ChildExit {
  /** The exit code; null when a signal ended the process. */
  code: number | null;
  /** The signal that ended the process, if one did. */
  signal: NodeJS.Signals | null;
}

/**
 * A child and the processes of its group. Use `await using`, or call {@link Child.end}, which also ends grandchildren that are
 * left after the child has exited.
 */
export interface Child extends AsyncDisposable {
  /** The pid, which is also the id of its group; undefined when it could not be started. */
  readonly pid: number | undefined;
  /** Null unless `stdin: 'pipe'`. A write after the child has exited fails only in its callback. */
  readonly stdin: Writable | null;
  /** Must be read, or the child blocks when the pipe is full. */
  readonly stdout: Readable;
  /** Flows from the start: listen in the same tick, or use {@link Child.stderrTail}. */
  readonly stderr: Readable;
  /** The end of its stderr, cut at a character boundary. */
  stderrTail(): string;
  /**
   * Resolves when the child has exited, even if its pipes are still open. Rejects with {@link ToolError} when it was never
   * started: `SPAWN_FAILED`, `INVALID_ARGUMENT`, or `CANCELLED` when the signal was already aborted. Causes no unhandled
   * rejection when it is not awaited.
   */
  readonly exited: Promise<ChildExit>;
  /** Sends a signal to every running process of it. Does nothing after its end. On Windows only SIGKILL has an effect. */
  signal(name: NodeJS.Signals): void;
  /** The pids of its running processes, including the child itself. Empty after its end, and on other systems than Linux. */
  runningPids(): number[];
  /**
   * Ends the whole group: calls `ask` if set, closes stdin, sends SIGTERM, waits up to `graceMs` (default 2,000), sends
   * SIGKILL and waits for the exit. Never rejects. Runs once: a later call waits for the same end and can only shorten its
   * timeouts, as an abort of the signal does.
   */
  end(options?: EndOptions): Promise<void>;
}

/**
 * Starts a program as the leader of its own process group. Never throws: a failed start rejects {@link Child.exited}. When the
 * host or the calling thread ends for any reason, the program and every process that it started get SIGTERM, and SIGKILL
 * within two seconds; see SECURITY.md.
 *
 * @example
 * ```ts
 * await using child = spawnChild({ command: 'git', args: ['--version'], cwd: projectDir });
 * for await (const chunk of child.stdout) process.stderr.write(chunk);
 * const { code } = await child.exited;
 * ```
 */
export function spawnChild(options: SpawnOptions): Child {
  try {
    assertOptions('spawnChild()', options, SPAWN_OPTIONS);
  } catch (error) {
    return neverStarted(ToolError.from(error));
  }
  const { signal } = options;
  if (typeof options.cwd !== 'string') {
    return neverStarted(
      new ToolError('INVALID_ARGUMENT', `"${options.command}" was not started: set cwd to its working directory.`),
    );
  }
  if (signal?.aborted) {
    return neverStarted(
      new ToolError('CANCELLED', `"${options.command}" was not started: its signal was already aborted.`),
    );
  }
  watchdog.ensure(); // first, so that the program is never without a watchdog
  let child: ChildProcess;
  try {
    child = spawn(options.command, [...(options.args ?? [])], {
      cwd: options.cwd,
      env: {
        ...(options.env ?? allowedEnvironment()),
        ...options.extraEnv,
        ...(options.mark !== undefined && { [MARK_VARIABLE]: options.mark }),
        [HOST_MARK_VARIABLE]: watchdog.mark,
      },
      stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32', // its own group; on Windows this would open a console
      shell: false,
      windowsHide: true,
    });
  } catch (error) {
    return neverStarted(spawnFailure(error, options)); // such as a NUL in an argument or too many processes
  }
  const { stdin, stdout, stderr, pid } = child;
  for (const stream of [stdin, stdout, stderr]) stream?.on('error', ignoreStreamError);
  if (pid === undefined || !stdout || !stderr) {
    const failure = new Promise<never>((_resolve, reject) => {
      child.once('error', (error) => reject(spawnFailure(error, options)));
    });
    return neverStarted(failure);
  }

  const tail = new StreamTail(options.stderrTailBytes ?? DEFAULT_STDERR_TAIL_BYTES);
  stderr.on('data', (chunk: Buffer) => tail.push(chunk));
  const group = new ProcessGroup(child, pid);
  watchdog.add(group);
  const family = new ProcessFamily(group, { mark: options.mark, isSandbox: options.isSandbox ?? false });
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, exitSignal) => {
      group.noteLeaderExit();
      watchdog.review(group);
      resolve({ code, signal: exitSignal });
      if (!group.isAlive()) signal?.removeEventListener('abort', onAbort);
    });
  });
  // After the start only failures to send a signal are emitted, which the ladder detects itself.
  child.on('error', ignoreStreamError);

  const ladder = new KillLadder({ family, stdin, outputs: [stdout, stderr], exited });
  let ending: Promise<void> | undefined;
  const end = (how: EndOptions = {}): Promise<void> => {
    const ended = ladder.end(how);
    return (ending ??= ended.finally(() => {
      watchdog.review(group);
      signal?.removeEventListener('abort', onAbort);
    }));
  };
  const onAbort = (): void => void end();
  signal?.addEventListener('abort', onAbort, { once: true });

  return {
    pid,
    stdin,
    stdout,
    stderr,
    stderrTail: () => tail.text(),
    exited,
    signal: (name) => family.signal(name),
    runningPids: () => family.pids(),
    end,
    [Symbol.asyncDispose]: () => end(),
  };
}

/** EPIPE and similar: `exited` and the callback of the write report that the other end is closed. */
function ignoreStreamError(): void {}

function neverStarted(reason: ToolError | Promise<never>): Child {
  const exited = reason instanceof Promise ? reason : Promise.reject(reason);
  exited.catch(() => {}); // reported to those who await `exited`
  const ended = (): PassThrough => new PassThrough().end();
  return {
    pid: undefined,
    stdin: null,
    stdout: ended(),
    stderr: ended(),
    stderrTail: () => '',
    exited,
    signal: () => {},
    runningPids: () => [],
    end: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function spawnFailure(error: unknown, { command, cwd }: SpawnOptions): ToolError {
  const errno = (error as { code?: unknown }).code;
  const details = { command, ...(typeof errno === 'string' && { errno }) };
  if (typeof errno === 'string' && errno.startsWith('ERR_INVALID_ARG')) {
    return new ToolError('INVALID_ARGUMENT', `Cannot start "${command}": ${messageOf(error)}`, {
      cause: error,
      details,
    });
  }
  return new ToolError('SPAWN_FAILED', `Cannot start "${command}": ${reasonOf(errno, error, command, cwd)}`, {
    cause: error,
    details,
  });
}

function reasonOf(errno: unknown, error: unknown, command: string, cwd: string): string {
  switch (errno) {
    case 'ENOENT':
    case 'ENOTDIR':
      // The system reports all three with one code.
      if (!isDirectory(cwd)) return `its working directory ${cwd} does not exist or is not a directory.`;
      if (isAbsolute(command) && existsSync(command))
        return 'it exists, but its interpreter (the #! line) or loader does not; install the interpreter.';
      if (/\S\s+\S/.test(command) && !isAbsolute(command))
        return 'there is no such program on the PATH. Pass only the program as command, and its arguments in args.';
      return isAbsolute(command)
        ? 'the file does not exist; check the path.'
        : 'it was not found on the PATH; install it, or use its absolute path.';
    case 'EACCES':
    case 'EPERM':
      return 'it is not executable; check its mode and the directories above it.';
    case 'E2BIG':
      return 'its arguments and environment are too long; pass long texts through stdin.';
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return `the system is out of processes, files or memory (${errno}); free some and try again.`;
    default:
      return messageOf(error);
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // missing or not accessible
  }
}
