// Starting a program and holding it: its own group, an allow-listed environment, streams that cannot crash the host.
// Ending it is kill-ladder.ts. No other module may import node:child_process.

import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { messageOf, ToolError } from '../contract/errors.js';
import { allowedEnvironment } from './environment.js';
import { KillLadder, type EndOptions } from './kill-ladder.js';
import { ProcessFamily } from './process-family.js';
import { ProcessGroup } from './process-group.js';
import { StreamTail } from './stream-tail.js';
import { MARK_VARIABLE } from './stray-processes.js';
import { HOST_MARK_VARIABLE, watchdog } from './watchdog.js';

const DEFAULT_STDERR_TAIL_BYTES = 8 * 1024;

/** What {@link spawnChild} starts, and how. */
export interface SpawnOptions {
  /** The program: an absolute path, or a name that is looked up on the child's PATH. Never given to a shell. */
  command: string;
  /** Its arguments, one a string, passed on as they are. Default: none. */
  args?: readonly string[];
  /** The working directory. Required, as nothing of Toolwright depends on the host's. */
  cwd: string;
  /** The whole environment but for the host's mark. Default: the allow-listed part of the host's (PATH, HOME, LANG, LC_*, TERM, TZ, ...). */
  env?: Readonly<Record<string, string>>;
  /** Added to the environment, over what it has. Default: nothing. */
  extraEnv?: Readonly<Record<string, string>>;
  /** `'pipe'` to write to it; with `'ignore'` it reads the end of file. Default: `'ignore'`. */
  stdin?: 'pipe' | 'ignore';
  /** Ends the child, by the kill ladder with its default grace, when aborted. Aborted already: nothing is started. */
  signal?: AbortSignal | undefined;
  /** How much of the end of stderr {@link Child.stderrTail} keeps, in bytes. Default 8 KiB. */
  stderrTailBytes?: number;
  /**
   * A text that no other child has, put into the environment as `TOOLWRIGHT_MARK`. With it, processes that left the
   * group are found by it or by their descent (on Linux), and {@link Child.end}, {@link Child.signal} and
   * {@link Child.runningPids} are about them too. What leaves the session and clears its environment is not found.
   * Default: none.
   */
  mark?: string | undefined;
  /**
   * The program is a sandbox with process numbers of its own, whose end kills all that runs in it. SIGTERM and other
   * signals but SIGKILL then go to what runs in it. Linux only. Default: false.
   */
  isSandbox?: boolean | undefined;
}

/** How a child ended: its exit code, or the signal that killed it. */
export interface ChildExit {
  /** The exit code; null when a signal ended the process. */
  code: number | null;
  /** The signal that ended the process, if one did. */
  signal: NodeJS.Signals | null;
}

/**
 * A child and everything it starts in its process group. Hold it with `await using`, or call {@link Child.end}: that
 * is also what ends grandchildren that are left when the child itself has exited.
 */
export interface Child extends AsyncDisposable {
  /** The number of the process and of its group; undefined when it could not be started. */
  readonly pid: number | undefined;
  /** Null unless `stdin: 'pipe'`. A write after the child has gone fails in its callback and nowhere else. */
  readonly stdin: Writable | null;
  /** The child stands still when this is not read. */
  readonly stdout: Readable;
  /** Flows from birth: listen in the same tick, or use {@link Child.stderrTail}. */
  readonly stderr: Readable;
  /** The last of what it wrote to stderr, cut on a character boundary. */
  stderrTail(): string;
  /**
   * Resolves when the child has exited, whether or not its pipes are at their end. Rejects with {@link ToolError} when
   * it was never started: `SPAWN_FAILED`, or `CANCELLED` for a signal that was aborted before. Nothing is reported as
   * unhandled when nobody looks.
   */
  readonly exited: Promise<ChildExit>;
  /** Sends a signal to all of it that runs; nothing happens once it is gone. Windows knows SIGKILL only. */
  signal(name: NodeJS.Signals): void;
  /** The numbers of what runs of it, the child itself included. Linux only: elsewhere, and once it is gone, none. */
  runningPids(): number[];
  /**
   * Ends the whole group: asks it to end where there is a way to (`ask`), closes stdin, sends SIGTERM, waits up to
   * `graceMs` (default 2,000), sends SIGKILL and waits for the exit. Never rejects. It is done once: a later call waits for
   * the same end, and can only hasten it, as the abort of the signal does.
   */
  end(options?: EndOptions): Promise<void>;
}

/**
 * Starts a program as the leader of its own process group. Never throws: a program that cannot be started is told by
 * {@link Child.exited}, so that there is one place to look. Whatever ends the host, or the thread that called, ends the
 * program and all it started: what is left gets SIGTERM and then SIGKILL within two seconds, see SECURITY.md.
 *
 * @example
 * ```ts
 * await using child = spawnChild({ command: 'git', args: ['--version'], cwd: projectDir });
 * for await (const chunk of child.stdout) process.stderr.write(chunk);
 * const { code } = await child.exited;
 * ```
 */
export function spawnChild(options: SpawnOptions): Child {
  const { signal } = options;
  if (typeof options.cwd !== 'string') {
    return neverStarted(
      new ToolError('INVALID_ARGUMENT', `"${options.command}" was not started: cwd must name its working directory.`),
    );
  }
  if (signal?.aborted) {
    return neverStarted(
      new ToolError('CANCELLED', `"${options.command}" was not started: its signal was aborted already.`),
    );
  }
  watchdog.ensure(); // first: then there is no moment in which a program has nobody to end it
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
      detached: process.platform !== 'win32', // a group of its own; on Windows it would open a console
      shell: false,
      windowsHide: true,
    });
  } catch (error) {
    return neverStarted(spawnFailure(error, options)); // a NUL in an argument, too long a list, no more processes
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
  // The one place where a group comes into being.
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
  // After the start only a signal that could not be sent arrives here, and the ladder looks for itself.
  child.on('error', ignoreStreamError);

  const ladder = new KillLadder({ family, stdin, outputs: [stdout, stderr], exited });
  let ending: Promise<void> | undefined;
  const end = (how: EndOptions = {}): Promise<void> => {
    const gone = ladder.climb(how);
    return (ending ??= gone.finally(() => {
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

/** EPIPE and its like: the other end is gone, which `exited` and the write's own callback tell. */
function ignoreStreamError(): void {}

function neverStarted(reason: ToolError | Promise<never>): Child {
  const exited = reason instanceof Promise ? reason : Promise.reject(reason);
  exited.catch(() => {}); // whoever awaits `exited` gets it; nobody has to
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
      // The system has one code for all three.
      if (!isDirectory(cwd)) return `its working directory ${cwd} does not exist or is not a directory.`;
      if (isAbsolute(command) && existsSync(command))
        return 'it exists, but its interpreter (the #! line) or loader does not; install that.';
      return isAbsolute(command)
        ? 'there is no such file; check the path.'
        : 'there is no such program on the PATH; install it, or give its absolute path.';
    case 'EACCES':
    case 'EPERM':
      return 'it may not be executed; check its mode and the directories above it.';
    case 'E2BIG':
      return 'its arguments and environment are too long; pass long texts through stdin.';
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return `the system is out of processes, files or memory (${errno}); end something and try again.`;
    default:
      return messageOf(error);
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // not there, or not to be looked at: no working directory either way
  }
}
