// The bash server: its tools, and what they are given. Each tool is a file of its own.

import { isAbsolute } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, type OptionNames } from '../../contract/options.js';
import { defineServer, type ToolServer } from '../../tool/define-server.js';
import { outputLimits, type OutputLimits } from '../project/output-budget.js';
import {
  PROJECT_FILES_OPTIONS,
  projectFilesOf,
  type ProjectFiles,
  type ProjectFilesOptions,
} from '../project/project-files.js';
import type { BashContext, BashState } from './bash-context.js';
import { checkAdded } from './command-environment.js';
import { executeTool } from './tools/execute.js';
import { jobInputTool } from './tools/job-input.js';
import { jobKillTool } from './tools/job-kill.js';
import { jobListTool } from './tools/job-list.js';
import { jobOutputTool } from './tools/job-output.js';
import { Jobs } from './jobs/job-registry.js';
import type { Sandbox } from './sandbox/sandbox.js';
import type { SandboxMode } from './sandbox/choose-sandbox.js';

export type { OutputLimits } from '../project/output-budget.js';
export type { SandboxMode } from './sandbox/choose-sandbox.js';
export type { Sandbox, SandboxCommand, SandboxedCommand, SandboxRules } from './sandbox/sandbox.js';

/** What {@link createBashServer} takes: the project, and how far its commands reach. */
export interface BashServerOptions extends ProjectFilesOptions {
  /**
   * `'require'`: commands run in a sandbox, and are `UNAVAILABLE` where none works; `'auto'`: without one there, and each
   * result says whether it was sandboxed; `'off'`: without. Default: `'require'`, as commands without a sandbox may leave
   * the project.
   */
  sandbox?: SandboxMode | undefined;
  /** The sandbox, where it is not to be bubblewrap. Default: bubblewrap, on Linux. */
  sandboxWith?: Sandbox | undefined;
  /** Let sandboxed commands use the network. Default: false. */
  network?: boolean | undefined;
  /** What sandboxed commands may read beside the project and the system's programs: absolute paths. Default: none. */
  readable?: readonly string[] | undefined;
  /**
   * Variables of every command, over the few that it gets of the host's. What is named here is given, also a secret; what
   * makes programs load code (`LD_*`, `NODE_OPTIONS`, `BASH_ENV`, `GIT_*` but authors) is refused. Default: none.
   */
  env?: Readonly<Record<string, string>> | undefined;
  /** The bash to use, absolute. Default: the system's, or one on the PATH outside the project. */
  shell?: string | undefined;
  /** The text that one answer may have; at least 1 line and 1 KiB. Default: 2,000 lines, 50 KiB. */
  output?: Partial<OutputLimits> | undefined;
  /** The output of one command that is kept on disk, in bytes, at least 64 KiB. Default: 256 MiB. */
  maxSpillBytes?: number | undefined;
  /** The files to work on, shared with other servers. Default: made from the project options here, which it replaces. */
  projectFiles?: ProjectFiles | undefined;
}

const MIN_SPILL_BYTES = 64 * 1024;
const DEFAULT_SPILL_BYTES = 256 * 1024 * 1024;

const OPTIONS: OptionNames<BashServerOptions> = {
  ...PROJECT_FILES_OPTIONS,
  sandbox: true,
  sandboxWith: true,
  network: true,
  readable: true,
  env: true,
  shell: true,
  output: true,
  maxSpillBytes: true,
  projectFiles: true,
};

/**
 * The tools that run commands in one project. Nothing but `projectDir` (and the roots) is looked at before the first
 * call; all that was started ends when the provider disconnects.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a project directory that is relative, missing or too wide, or a wrong option
 * @example
 * ```ts
 * const provider = new InProcessToolProvider({ servers: [createBashServer({ projectDir: '/work/shop' })] });
 * const result = await provider.callTool('bash.execute', { command: 'npm test' });
 * ```
 */
export function createBashServer(options: BashServerOptions): ToolServer {
  assertOptions('createBashServer()', options, OPTIONS);
  checkOptions(options);
  const context: BashContext = {
    files: projectFilesOf(options),
    sandbox: options.sandbox ?? 'require',
    sandboxWith: options.sandboxWith,
    network: options.network ?? false,
    readable: options.readable ?? [],
    shell: options.shell,
    env: { ...options.env },
    limits: outputLimits('createBashServer()', options.output),
    maxSpillBytes: options.maxSpillBytes ?? DEFAULT_SPILL_BYTES,
  };
  return defineServer<unknown>({
    name: 'bash',
    version: '0.2.0',
    tools: [executeTool(context), jobOutputTool(context), jobInputTool(context), jobKillTool(), jobListTool()],
    start: (): BashState => ({ jobs: new Jobs(), shell: undefined, choice: undefined }),
    endSession: (state, sessionId) => (state as BashState).jobs.endSession(sessionId),
    stop: (state) => (state as BashState).jobs.stop(),
  });
}

function checkOptions({ sandbox, network, readable, env, maxSpillBytes }: BashServerOptions): void {
  // A mode that is none (JavaScript, JSON configuration) must not read as "off".
  if (sandbox !== undefined && !['auto', 'require', 'off'].includes(sandbox))
    throw wrong(`sandbox must be 'auto', 'require' or 'off', not ${JSON.stringify(sandbox)}.`);
  if (network !== undefined && typeof network !== 'boolean')
    throw wrong(`network must be true or false, not ${JSON.stringify(network)}.`);
  for (const path of readable ?? []) {
    if (typeof path !== 'string' || !isAbsolute(path))
      throw wrong(`readable must name absolute paths, not ${JSON.stringify(path)}.`);
  }
  checkAdded(env ?? {}, 'env');
  if (maxSpillBytes !== undefined && !(maxSpillBytes >= MIN_SPILL_BYTES))
    throw wrong(`maxSpillBytes must be at least ${MIN_SPILL_BYTES}, not ${maxSpillBytes}.`);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
