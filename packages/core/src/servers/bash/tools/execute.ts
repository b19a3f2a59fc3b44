// execute: runs a command in a new shell, and waits for it or leaves it running as a job.

import { setTimeout as delay } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { spawnChild } from '../../../process/index.js';
import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import type { FromJsonSchema } from '../../../tool/infer-schema.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import type { ToolOutput } from '../../../contract/result.js';
import { openDirectory } from '../../project/open/path-lookup.js';
import { executeAnswer, executeOutput, type EarlyEnd, type ExecuteFacts } from '../jobs/command-answer.js';
import { claimCommand } from '../bash-claims.js';
import { CommandOutput } from '../output/command-output.js';
import type { BashContext, BashState } from '../bash-context.js';
import { commandEnvironment } from '../command-environment.js';
import { Job } from '../jobs/job.js';
import { ProgressTicker } from '../jobs/progress-ticker.js';
import { type SandboxCommand } from '../sandbox/sandbox.js';
import { chooseSandbox, type SandboxChoice } from '../sandbox/choose-sandbox.js';
import { findShell, SHELL_ARGUMENTS } from '../find-bash.js';
import { Timeline } from '../output/timeline.js';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 3_600_000;
const MAX_YIELD_MS = 600_000;
/** The kernel accepts 128 KiB as one argument. https://man7.org/linux/man-pages/man2/execve.2.html */
const MAX_COMMAND_CHARS = 32 * 1024;
const MAX_STDIN_CHARS = 4 * 1024 * 1024;
/** From SIGTERM to SIGKILL. */
const GRACE_MS = 2_000;

/** How long ending a command may take after its timeout. */
const ENDING_MS = 10_000;

const input = objectSchema(
  {
    command: { type: 'string', minLength: 1, maxLength: MAX_COMMAND_CHARS, description: 'Run by bash -c.' },
  },
  {
    cwd: { type: 'string', default: '.', description: 'Working directory, relative to the project.' },
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_TIMEOUT_MS,
      description:
        'The command is ended after this time. Default: 120000; none for a command that may run in the background (background, yield_ms).',
    },
    background: {
      type: 'boolean',
      default: false,
      description: 'Answer immediately with a job_id while the command runs.',
    },
    yield_ms: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_YIELD_MS,
      description: 'A command that still runs after this time continues in the background as a job.',
    },
    env: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Environment variables to add. No secrets, and none that make programs load code.',
    },
    stdin: {
      type: 'string',
      maxLength: MAX_STDIN_CHARS,
      description: 'Standard input. Default: empty; in the background, job_input writes to it.',
    },
  },
);
type ExecuteArguments = FromJsonSchema<typeof input>;

/** The tool `execute`. */
export function executeTool(context: BashContext): Tool {
  const { files } = context;
  return defineTool({
    name: 'execute',
    title: 'Run a command',
    description:
      'Run a command in a new bash without a terminal; directory and variables do not carry over to the next call. Returns stdout and stderr ' +
      'as one text that ends with the exit code. Start servers and watchers with background.',
    input,
    output: executeOutput,
    annotations: hints('destructive', 'openWorld'),
    timeoutMs: MAX_YIELD_MS + ENDING_MS,
    permission: ({ command, cwd, env }, ctx) => claimCommand(files, { command, cwd, env }, ctx.signal),
    execute: (args, ctx: ToolContext<BashState>) => execute(context, args, ctx),
  });
}

async function execute(
  context: BashContext,
  args: ExecuteArguments,
  ctx: ToolContext<BashState>,
): Promise<ToolOutput<ExecuteFacts>> {
  const { jobs } = ctx.state;
  const staysInBackground = args.background || args.yield_ms !== undefined;
  if (staysInBackground) jobs.assertRoom();
  const choice = await sandboxChoice(context, ctx.state);
  const progress = new ProgressTicker(ctx);
  const job = await startJob(context, args, ctx, choice, (output) => progress.tick(output));
  try {
    if (job.pid === undefined) await job.done; // rejects with the reason why it was not started
    const timeoutMs = args.timeout_ms ?? (staysInBackground ? undefined : DEFAULT_TIMEOUT_MS);
    const timer = timeoutMs === undefined ? undefined : limitTime(job, timeoutMs);
    const outcome = await settled(job, args, ctx);
    if (outcome === 'yielded') job.isListed = true;
    else clearTimeout(timer);
    if (outcome === 'cancelled' || job.timedOut) await job.end(GRACE_MS);
    const early: EarlyEnd | undefined =
      outcome === 'cancelled'
        ? { code: 'CANCELLED' }
        : outcome === 'done' && job.timedOut
          ? { code: 'TIMED_OUT', timeoutMs: timeoutMs ?? 0 }
          : undefined;
    // A caller that waited reads this answer; one that started a background job may not.
    if (outcome === 'yielded' && !args.background) job.unreadFrom = job.output.timeline.total;
    return await executeAnswer(job, {
      early,
      unsandboxed: choice.sandbox || context.sandbox === 'off' ? undefined : choice.reason,
    });
  } catch (error) {
    await job.end(GRACE_MS);
    throw error;
  } finally {
    progress.stop();
    jobs.release(job);
  }
}

/** Waits for the end of the command, the abort of the call, or `yield_ms`. */
async function settled(
  job: Job,
  { background, yield_ms: yieldMs }: ExecuteArguments,
  { signal }: ToolContext,
): Promise<'done' | 'yielded' | 'cancelled'> {
  if (signal.aborted) return 'cancelled';
  if (background) return 'yielded';
  const over = new AbortController();
  const aborted = new Promise<'cancelled'>((resolve) => {
    signal.addEventListener('abort', () => resolve('cancelled'), { signal: over.signal, once: true });
  });
  try {
    const waits: Promise<'done' | 'yielded' | 'cancelled'>[] = [job.done.then(() => 'done'), aborted];
    if (yieldMs !== undefined) {
      const timeout = delay(yieldMs, 'yielded' as const, { signal: over.signal });
      timeout.catch(() => {}); // the command ended first
      waits.push(timeout);
    }
    return await Promise.race(waits);
  } finally {
    over.abort();
  }
}

function limitTime(job: Job, timeoutMs: number): NodeJS.Timeout {
  const timer = setTimeout(() => {
    job.timedOut = true;
    void job.end(GRACE_MS);
  }, timeoutMs);
  const clear = (): void => clearTimeout(timer);
  job.done.then(clear, clear);
  return timer;
}

async function startJob(
  context: BashContext,
  args: ExecuteArguments,
  { state, sessionId, signal }: ToolContext<BashState>,
  { sandbox }: SandboxChoice,
  onOutput: (output: CommandOutput) => void,
): Promise<Job> {
  const { scope } = context.files;
  const { jobs } = state;
  if (args.command.includes('\0'))
    throw new ToolError('INVALID_ARGUMENT', 'The command contains a NUL character; remove it.');
  const env = commandEnvironment(context.env, args.env ?? {});
  const shell = await resolveShell(context, state);
  // Held open until the program has started in it, so that a link cannot be swapped in for it.
  await using directory = await openDirectory(scope, scope.parse(args.cwd));
  const plain: SandboxCommand = {
    command: shell,
    args: [...SHELL_ARGUMENTS, args.command],
    cwd: sandbox ? directory.path.absolute : directory.address,
    env,
  };
  signal.throwIfAborted();
  const rules = { scope, network: context.network, readable: context.readable };
  const wrapped = await sandbox?.wrap(plain, rules);
  try {
    jobs.assertOpen();
    signal.throwIfAborted();
    const { id, mark } = jobs.nextId();
    const { command, args: programArgs, cwd, env: programEnv } = wrapped ?? plain;
    const child = spawnChild({
      ...{ command, args: programArgs, cwd, env: programEnv },
      stdin: args.background || args.stdin !== undefined ? 'pipe' : 'ignore',
      mark,
      isSandbox: sandbox?.hasOwnProcesses ?? false,
    });
    const timeline = new Timeline(jobs.spill, `${id}.log`, context.maxSpillBytes);
    const job = new Job({
      id,
      command: args.command,
      cwd: directory.path.shown,
      sessionId,
      sandboxed: sandbox !== undefined,
      child,
      output: new CommandOutput(timeline, context.limits, onOutput),
      release: wrapped?.release ?? (() => Promise.resolve(undefined)),
      broken: wrapped?.broken,
    });
    jobs.add(job);
    if (args.stdin !== undefined) child.stdin?.write(args.stdin);
    if (!args.background) child.stdin?.end();
    return job;
  } catch (error) {
    await wrapped?.release();
    throw error;
  }
}

function resolveShell({ files, shell }: BashContext, state: BashState): Promise<string> {
  return (state.shell ??= findShell(files.scope, shell).catch((error: unknown) => {
    state.shell = undefined; // a later call may find one
    throw error;
  }));
}

async function sandboxChoice(context: BashContext, state: BashState): Promise<SandboxChoice> {
  const { files, sandbox, sandboxWith, network, readable } = context;
  const command = await resolveShell(context, state);
  const sample = {
    command,
    args: [...SHELL_ARGUMENTS, ':'],
    cwd: files.scope.projectDir,
    env: commandEnvironment({}, {}),
  };
  const rules = { scope: files.scope, network, readable };
  return (state.choice ??= chooseSandbox(sandbox, sandboxWith, rules, sample).catch((error: unknown) => {
    state.choice = undefined;
    throw error;
  }));
}
