// Runs git once: without a shell, with bounded output and time, ending its process group on abort; and maps its failures
// to tool errors.

import { finished } from 'node:stream/promises';
import { ToolError, type ToolErrorCode } from '../../../contract/errors.js';
import { spawnChild } from '../../../process/index.js';
import { escapeControls } from '../scope/project-scope.js';

/** Maximum output in memory; longer output is cut, and continued by a cursor. */
export const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const MAX_MESSAGE_CHARS = 2_000;
const PROGRESS_INTERVAL_MS = 1_000;

/** One run of git. */
export interface GitRun {
  command: string;
  /** The subcommand and its arguments. */
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  signal: AbortSignal;
  stdin?: string | Uint8Array | undefined;
  /** Exit codes that are not failures. Default: 0. */
  accept?: readonly number[] | undefined;
  /** Receives the output in chunks; returning false ends git without an error. Default: the output is collected. */
  onOutput?: ((chunk: Buffer) => boolean) | undefined;
  /** Called once a second with the number of bytes received. */
  onProgress?: ((bytes: number) => void) | undefined;
}

/** The result of a run. */
export interface GitOutcome {
  /** Null if git was ended because no more output was needed. */
  code: number | null;
  stdout: Buffer;
  /** The output exceeded {@link MAX_OUTPUT_BYTES}, or the receiver returned false. */
  cut: boolean;
  stderr: string;
}

/**
 * Runs git and returns its output.
 *
 * @throws {ToolError} CANCELLED, TIMED_OUT; LOCKED, NOT_FOUND, NO_SPACE and EXECUTION_FAILED as {@link gitFailure} reads
 *   its message
 */
export async function runGit(run: GitRun): Promise<GitOutcome> {
  const { args, signal, stdin, accept = [0] } = run;
  signal.throwIfAborted();
  await using child = spawnChild({
    command: run.command,
    args: ['--no-pager', ...args],
    cwd: run.cwd,
    env: run.env,
    stdin: stdin === undefined ? 'ignore' : 'pipe',
    signal,
  });
  let timedOut = false;
  let cut = false;
  let bytes = 0;
  const kept: Buffer[] = [];
  const timer = setTimeout(() => {
    timedOut = true;
    void child.end();
  }, run.timeoutMs);
  const { onProgress } = run;
  const ticker = onProgress && setInterval(() => onProgress(bytes), PROGRESS_INTERVAL_MS);
  try {
    child.stdin?.end(stdin);
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (run.onOutput) cut = !run.onOutput(chunk);
      else if (bytes > MAX_OUTPUT_BYTES) {
        kept.push(chunk.subarray(0, chunk.length - (bytes - MAX_OUTPUT_BYTES)));
        cut = true;
      } else kept.push(chunk);
      if (cut) break;
    }
  } catch (error) {
    // Closed by the timeout or the abort, which are reported below.
    if (ToolError.isInstance(error) || !(timedOut || signal.aborted)) throw error;
  } finally {
    clearTimeout(timer);
    clearInterval(ticker);
    if (cut || timedOut || signal.aborted) await child.end();
  }
  const { code } = await child.exited;
  signal.throwIfAborted();
  if (timedOut)
    throw new ToolError(
      'TIMED_OUT',
      `git ${args[0]} did not finish within ${Math.round(run.timeoutMs / 1_000)} s and was stopped. Narrow the request, for example to fewer paths.`,
    );
  await finished(child.stderr).catch(() => {}); // closed already: only its tail is available
  const stderr = child.stderrTail();
  if (!cut && (code === null || !accept.includes(code))) throw gitFailure(args[0] ?? '', stderr, code);
  return { code: cut ? null : code, stdout: Buffer.concat(kept), cut, stderr };
}

/** The codes and advice for git's messages, tried in order. */
const MEANINGS: readonly [RegExp, ToolErrorCode, string][] = [
  [
    /dubious ownership/,
    'PERMISSION_DENIED',
    'The repository belongs to another user, so git refuses to use it. The operator can add it to safe.directory in their git configuration.',
  ],
  [
    /not a git repository|must be run in a work tree|cannot use bare repository/i,
    'NOT_A_REPOSITORY',
    'The project is not a git repository with a working tree. Open the repository as the project, or create one there with git init.',
  ],
  [
    /\.lock': File exists/,
    'LOCKED',
    'Another git process is running in this repository, or one was killed. Try again.',
  ],
  [/No space left on device|Disk quota exceeded/, 'NO_SPACE', 'The disk is full.'],
  [/did not match any file|does not exist in|no such path|exists on disk, but not in/i, 'NOT_FOUND', ''],
  [
    /auto-detect email address|tell me who you are|no (?:name|email) was given/i,
    'EXECUTION_FAILED',
    'git has no identity for commits: the operator must set user.name and user.email.',
  ],
  [
    /transport '.*' not allowed/,
    'PERMISSION_DENIED',
    'The operator does not allow this kind of remote (network.protocols).',
  ],
];

/** The error of a failed git, with advice. */
export function gitFailure(subcommand: string, stderr: string, code: number | null): ToolError {
  const said = readableMessage(stderr);
  const [, meaning = 'EXECUTION_FAILED', advice = ''] = MEANINGS.find(([pattern]) => pattern.test(stderr)) ?? [];
  const reason = said === '' ? `It exited with ${code ?? 'a signal'} without a message.` : `git says: ${said}`;
  return new ToolError(meaning, [`git ${subcommand} failed.`, advice, reason].filter((part) => part !== '').join(' '));
}

/** git's message without hints about options that no tool has. */
export function readableMessage(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !line.startsWith('hint:'))
    .map(escapeControls);
  const text = lines.join('\n');
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS)}...` : text;
}
