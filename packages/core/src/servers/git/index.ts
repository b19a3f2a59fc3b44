/**
 * The git server alone: the project's repository, without running any program that the repository configures. Loads no
 * other server.
 *
 * @example
 * ```ts
 * import { InProcessToolProvider, textOf } from '@toolwright/core';
 * import { createGitServer } from '@toolwright/core/servers/git';
 *
 * const server = createGitServer({ projectDir: process.cwd() });
 * await using provider = new InProcessToolProvider({ servers: [server] });
 * const result = await provider.callTool('git.log', { max: 3 });
 * console.log(textOf(result));
 * ```
 * @module
 */

import { ToolError } from '../../contract/errors.js';
import { assertOptions, shownValue, type OptionNames } from '../../contract/options.js';
import type { Tool } from '../../tool/define-tool.js';
import { defineServer, type ToolServer } from '../../tool/define-server.js';
import { outputLimits, type OutputLimits } from '../project/output-budget.js';
import {
  PROJECT_FILES_OPTIONS,
  projectFilesOf,
  type ProjectFiles,
  type ProjectFilesOptions,
} from '../project/project-files.js';
import { addTool } from './tools/add.js';
import { blameTool } from './tools/blame.js';
import { branchListTool } from './tools/branch-list.js';
import { branchTool } from './tools/branch.js';
import { checkoutTool } from './tools/checkout.js';
import { commitTool } from './tools/commit.js';
import type { GitContext } from './git-context.js';
import { diffTool } from './tools/diff.js';
import { fetchTool } from './tools/fetch.js';
import { logTool } from './tools/log.js';
import { mergeTool } from './tools/merge.js';
import { cherryPickTool, revertTool } from './tools/cherry-pick-and-revert.js';
import { pullTool } from './tools/pull.js';
import { pushTool } from './tools/push.js';
import { rebaseTool } from './tools/rebase.js';
import { resetTool } from './tools/reset.js';
import { restoreTool } from './tools/restore.js';
import { showTool } from './tools/show.js';
import { stashTool } from './tools/stash.js';
import { statusTool } from './tools/status.js';
import { tagTool } from './tools/tag.js';
import { unstageTool } from './tools/unstage.js';

/** A group of optional tools. */
export type GitToolGroup = 'merge' | 'rewrite' | 'tag' | 'network';

/** Options of {@link createGitServer}. */
export interface GitServerOptions extends ProjectFilesOptions {
  /**
   * `'untrusted'`: hooks, filters, drivers and helpers configured in the repository never run. `'trusted'`: they run, and the
   * user's git configuration applies. Default: `'untrusted'`.
   */
  trust?: 'untrusted' | 'trusted' | undefined;
  /**
   * Optional tools: `'merge'` (merge, cherry_pick, revert), `'rewrite'` (rebase, reset), `'tag'` (tag), `'network'` (fetch,
   * pull, push). Default: none.
   */
  groups?: readonly GitToolGroup[] | undefined;
  /** The transports that network tools may use, by git's names. Default: `['https', 'ssh']`. */
  protocols?: readonly string[] | undefined;
  /** The timeout of one git command, in milliseconds, 1,000 to 3,600,000. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** The timeout of commands that use the network or run hooks. Default: 120,000. */
  networkTimeoutMs?: number | undefined;
  /** The limits of the text of one result; at least 1 line and 1 KiB. Default: 2,000 lines, 50 KiB. */
  output?: Partial<OutputLimits> | undefined;
  /** The project's files, shared with other servers; replaces the project options. Default: created from the project options. */
  projectFiles?: ProjectFiles | undefined;
}

const TOOLS: readonly ((context: GitContext) => Tool)[] = [
  statusTool,
  diffTool,
  logTool,
  showTool,
  blameTool,
  branchListTool,
  branchTool,
  addTool,
  unstageTool,
  commitTool,
  checkoutTool,
  restoreTool,
  stashTool,
];

const GROUPS: Readonly<Record<GitToolGroup, readonly ((context: GitContext) => Tool)[]>> = {
  merge: [mergeTool, cherryPickTool, revertTool],
  rewrite: [rebaseTool, resetTool],
  tag: [tagTool],
  network: [fetchTool, pullTool, pushTool],
};

const MIN_TIMEOUT_MS = 1_000;
const MAX_TIMEOUT_MS = 3_600_000;

const OPTIONS: OptionNames<GitServerOptions> = {
  ...PROJECT_FILES_OPTIONS,
  trust: true,
  groups: 'array',
  protocols: 'array',
  timeoutMs: true,
  networkTimeoutMs: true,
  output: true,
  projectFiles: true,
};

/**
 * Creates the server of the git tools for one project. Runs no git before the first call.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a project directory that is relative, missing or too broad, or an invalid option
 * @example
 * ```ts
 * const provider = new InProcessToolProvider({ servers: [createGitServer({ projectDir: '/work/shop' })] });
 * const result = await provider.callTool('git.status');
 * ```
 */
export function createGitServer(options: GitServerOptions): ToolServer {
  assertOptions('createGitServer()', options, OPTIONS);
  const { trust = 'untrusted', groups = [], protocols = ['https', 'ssh'] } = options;
  // Any other value (from JavaScript or JSON) must not count as trust.
  if (trust !== 'untrusted' && trust !== 'trusted')
    throw wrong(`trust must be 'untrusted' or 'trusted', not ${JSON.stringify(trust)}.`);
  const unknown = groups.find((group) => !Object.hasOwn(GROUPS, group));
  if (unknown !== undefined)
    throw wrong(`unknown group ${JSON.stringify(unknown)} in groups; valid groups: ${Object.keys(GROUPS).join(', ')}.`);
  if (!protocols.every((protocol) => /^[a-z][a-z0-9+-]*$/.test(protocol) && protocol !== 'ext'))
    throw wrong(`protocols must be names of transports such as 'https' or 'ssh', not ${JSON.stringify(protocols)}.`);
  const context: GitContext = {
    files: projectFilesOf(options),
    trust,
    limits: outputLimits('createGitServer()', options.output),
    timeoutMs: timeout('timeoutMs', options.timeoutMs ?? 30_000),
    networkTimeoutMs: timeout('networkTimeoutMs', options.networkTimeoutMs ?? 120_000),
    protocols,
  };
  const tools = [...TOOLS, ...[...new Set(groups)].flatMap((group) => GROUPS[group])];
  return defineServer({ name: 'git', version: '0.2.0', tools: tools.map((make) => make(context)) });
}

function timeout(name: string, value: number): number {
  if (typeof value === 'number' && value >= MIN_TIMEOUT_MS && value <= MAX_TIMEOUT_MS) return value;
  throw wrong(`${name} must be ${MIN_TIMEOUT_MS} to ${MAX_TIMEOUT_MS} milliseconds, not ${shownValue(value)}.`);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
