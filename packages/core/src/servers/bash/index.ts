/**
 * The bash server alone: commands and background jobs, in a sandbox where one is available. Loads no other server.
 *
 * @example
 * ```ts
 * import { InProcessToolProvider, textOf } from '@toolwright/core';
 * import { createBashServer } from '@toolwright/core/servers/bash';
 *
 * const server = createBashServer({ projectDir: process.cwd() });
 * await using provider = new InProcessToolProvider({ servers: [server] });
 * const result = await provider.callTool('bash.execute', { command: 'node --version' });
 * console.log(textOf(result));
 * ```
 * @module
 */

import { isAbsolute } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, copyTexts, shownValue, type OptionNames } from '../../contract/options.js';
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

/** Options of {@link createBashServer}: the project, and what its commands may reach. */
export interface BashServerOptions extends ProjectFilesOptions {
  /**
   * `'require'`: commands run in a sandbox, and fail with `UNAVAILABLE` where none works; `'auto'`: they run without one
   * where none works, and each result says whether it was sandboxed; `'off'`: they run without one. Default: `'require'`, as
   * commands without a sandbox can leave the project.
   */
  sandbox?: SandboxMode | undefined;
  /** The sandbox to use. Default: bubblewrap, on Linux. */
  sandboxWith?: Sandbox | undefined;
  /** Whether sandboxed commands may use the network. Default: false. */
  network?: boolean | undefined;
  /** Absolute paths that sandboxed commands may read, besides the project and the system's programs. Default: none. */
  readable?: readonly string[] | undefined;
  /**
   * Variables of every command, added to a few harmless ones of the host. They may be secrets. Variables that make programs
   * load code (`LD_*`, `NODE_OPTIONS`, `BASH_ENV`, `GIT_*` except authors) are refused. Default: none.
   */
  env?: Readonly<Record<string, string>> | undefined;
  /** Absolute path of bash. Default: the system's, or one on the PATH outside the project. */
  shell?: string | undefined;
  /** Limits of the text of one answer; at least 1 line and 1 KiB. Default: 2,000 lines and 50 KiB. */
  output?: Partial<OutputLimits> | undefined;
  /** How much output of one command is stored on disk, in bytes; at least 64 KiB. Default: 256 MiB. */
  maxSpillBytes?: number | undefined;
  /** The project's files, shared with other servers; replaces the project options. Default: created from them. */
  projectFiles?: ProjectFiles | undefined;
}

const MIN_SPILL_BYTES = 64 * 1024;
const DEFAULT_SPILL_BYTES = 256 * 1024 * 1024;

const OPTIONS: OptionNames<BashServerOptions> = {
  ...PROJECT_FILES_OPTIONS,
  sandbox: true,
  sandboxWith: true,
  network: 'boolean',
  readable: 'array',
  env: true,
  shell: 'text',
  output: true,
  maxSpillBytes: true,
  projectFiles: true,
};

/**
 * Creates the tools that run commands in one project. Only `projectDir` and the extra roots are accessed before the first
 * call. Every process that was started is ended when the provider disconnects.
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

function checkOptions({ sandbox, sandboxWith, shell, readable, env, maxSpillBytes }: BashServerOptions): void {
  // An invalid mode, from JavaScript or JSON, must not mean "off".
  if (sandbox !== undefined && !['auto', 'require', 'off'].includes(sandbox))
    throw wrong(`sandbox must be 'auto', 'require' or 'off', not ${JSON.stringify(sandbox)}.`);
  for (const path of readable ?? []) {
    if (typeof path !== 'string' || !isAbsolute(path))
      throw wrong(`readable must contain absolute paths, not ${JSON.stringify(path)}.`);
  }
  if (shell !== undefined && !isAbsolute(shell))
    throw wrong(`shell must be the absolute path of bash, not ${shownValue(shell)}.`);
  if (sandboxWith !== undefined && typeof (sandboxWith as Partial<Sandbox> | null)?.wrap !== 'function')
    throw wrong(`sandboxWith must be a Sandbox with a method wrap, not ${shownValue(sandboxWith)}.`);
  if (env !== undefined && !copyTexts(env)) throw wrong(`env must be an object of texts, not ${shownValue(env)}.`);
  checkAdded(env ?? {}, 'env');
  if (maxSpillBytes !== undefined && !(typeof maxSpillBytes === 'number' && maxSpillBytes >= MIN_SPILL_BYTES))
    throw wrong(`maxSpillBytes must be at least ${MIN_SPILL_BYTES}, not ${shownValue(maxSpillBytes)}.`);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
