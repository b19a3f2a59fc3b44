// Runs a checker once: without a shell and prompts, with limited time and output; an abort ends its process group.

import { allowedEnvironment, spawnChild } from '../../../process/index.js';
import type { ToolContext } from '../../../tool/define-tool.js';
import type { CheckerCommand } from './checkers.js';

const GRACE_MS = 2_000;
/** The limit of a checker's output. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const PROGRESS_INTERVAL_MS = 1_000;

/** Environment variables that checkers need in addition to `HOME`. */
const TOOLCHAIN_VARIABLES = [
  ...['CARGO_HOME', 'RUSTUP_HOME', 'RUSTUP_TOOLCHAIN', 'GOROOT', 'GOPATH', 'GOCACHE', 'GOMODCACHE', 'VIRTUAL_ENV'],
];
/** Disables colours, prompts and network access. */
const UNATTENDED = {
  TERM: 'dumb',
  CI: '1',
  NO_COLOR: '1',
  FORCE_COLOR: '0',
  CARGO_NET_OFFLINE: 'true',
  GOFLAGS: '-mod=readonly',
  GOPROXY: 'off',
};

/** The outcome of a run. */
export interface CheckerRun {
  stdout: string;
  stderr: string;
  /** The exit code; null when it was ended. */
  code: number | null;
  timedOut: boolean;
  /** True when it was ended because its output was too large. */
  cut: boolean;
}

/** @throws {ToolError} SPAWN_FAILED, CANCELLED */
export async function runChecker(
  { command, args }: CheckerCommand,
  cwd: string,
  timeoutMs: number,
  ctx: ToolContext,
): Promise<CheckerRun> {
  const kept = TOOLCHAIN_VARIABLES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  await using child = spawnChild({
    ...{ command, args, cwd, signal: ctx.signal },
    env: { ...allowedEnvironment(), ...Object.fromEntries(kept), ...UNATTENDED },
  });
  const startedAt = performance.now();
  let timedOut = false;
  let cut = false;
  let bytes = 0;
  const collect = (stream: NodeJS.ReadableStream): Buffer[] => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_OUTPUT_BYTES) chunks.push(chunk);
      else if (!cut) {
        cut = true;
        void child.end({ graceMs: GRACE_MS });
      }
    });
    return chunks;
  };
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const closed = Promise.all([child.stdout, child.stderr].map(closedOf));
  const timer = setTimeout(() => {
    timedOut = true;
    void child.end({ graceMs: GRACE_MS });
  }, timeoutMs);
  const ticker = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    ctx.progress({ progress: seconds, message: `${seconds} s, ${bytes} bytes of output` });
  }, PROGRESS_INTERVAL_MS);
  try {
    const { code } = await child.exited;
    if (!timedOut && !cut) await closed;
    ctx.signal.throwIfAborted();
    const whole = (chunks: Buffer[]): string => Buffer.concat(chunks).toString('utf8');
    return { stdout: whole(stdout), stderr: whole(stderr), code: timedOut || cut ? null : code, timedOut, cut };
  } finally {
    clearTimeout(timer);
    clearInterval(ticker);
  }
}

function closedOf(stream: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.once('end', resolve);
  });
}
