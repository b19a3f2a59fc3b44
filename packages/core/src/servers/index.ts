/**
 * The built-in tool servers of a project: files, shell, git, memory, language servers, and tools that steer the engine.
 * {@link createBuiltinServers} creates them together, so that they share locks, versions and limits.
 * `InProcessToolProvider.forProject()` does this for you.
 *
 * @example
 * ```ts
 * import { InProcessToolProvider } from '@toolwright/core';
 * import { createBuiltinServers } from '@toolwright/core/servers';
 *
 * const servers = createBuiltinServers({ projectDir: process.cwd(), bash: false, agent: {} });
 * await using provider = new InProcessToolProvider({ servers });
 * const tools = await provider.listTools(); // filesystem.read_file, git.status, agent.todo_write, …
 * ```
 * @module
 */

import { assertNodeVersion } from '../node-version.js';

import { ToolError } from '../contract/errors.js';
import { assertOptions, shownValue, type OptionNames } from '../contract/options.js';
import type { ToolServer } from '../tool/define-server.js';
import { createAgentServer, type AgentServerOptions } from './agent/index.js';
import { createBashServer, type BashServerOptions } from './bash/index.js';
import { createDiagnosticsServer, type DiagnosticsServerOptions } from './diagnostics/index.js';
import { createFilesystemServer, type FilesystemServerOptions } from './filesystem/index.js';
import { createGitServer, type GitServerOptions } from './git/index.js';
import { createMemoryServer, type MemoryServerOptions } from './memory/index.js';
import { applyLeanProfile } from './lean-profile.js';
import { PROJECT_FILES_OPTIONS, ProjectFiles, type ProjectFilesOptions } from './project/project-files.js';

export { createAgentServer, type AgentServerOptions } from './agent/index.js';
export {
  createBashServer,
  type BashServerOptions,
  type Sandbox,
  type SandboxCommand,
  type SandboxedCommand,
  type SandboxMode,
  type SandboxRules,
} from './bash/index.js';

export type { AfterChange, AfterChangeHook, AfterChangeOptions } from './project/change-report.js';
export type { Diagnostic, Severity } from './project/diagnostic-rows.js';
export {
  createDiagnosticsServer,
  type DiagnosticsServer,
  type DiagnosticsServerOptions,
  type LanguageServerOptions,
} from './diagnostics/index.js';

export {
  createFilesystemServer,
  type FilesystemServerOptions,
  type OutputLimits,
  type SearchEngineChoice,
} from './filesystem/index.js';

export { createGitServer, type GitServerOptions, type GitToolGroup } from './git/index.js';
export { createMemoryServer, type MemoryServerOptions } from './memory/index.js';
export {
  MAX_WHOLE_FILE_BYTES,
  ProjectFiles,
  type ChangeOptions,
  type ChangeOutcome,
  type FileContent,
  type ProjectFilesOptions,
  type ResolvedPath,
} from './project/project-files.js';

export type { CurrentFile } from './project/open/file-content.js';
export type { OpenedPath } from './project/open/opened-path.js';
export type { OpenedFile } from './project/open/path-lookup.js';
export type { ChangeTogetherOptions, FileChange, TogetherFile, TogetherPlan } from './project/write/change-together.js';
export {
  ProjectScope,
  type ExtraRoot,
  type ProjectScopeOptions,
  type ScopePath,
  type ScopeRoot,
} from './project/scope/project-scope.js';

/** What {@link createBuiltinServers} takes. The options of a server, or `false` to leave it out. */
export interface BuiltinServersOptions extends ProjectFilesOptions {
  /** Reading, changing, listing and searching files. On by default. */
  filesystem?: Omit<FilesystemServerOptions, keyof ProjectFilesOptions | 'projectFiles'> | false | undefined;
  /** Running commands. On by default. */
  bash?: Omit<BashServerOptions, keyof ProjectFilesOptions | 'projectFiles'> | false | undefined;
  /** The project's git repository. On by default. */
  git?: Omit<GitServerOptions, keyof ProjectFilesOptions | 'projectFiles' | 'trust'> | false | undefined;
  /** Memories that outlive a session. On by default; no file is created before the first memory is stored. */
  memory?: Omit<MemoryServerOptions, keyof ProjectFilesOptions | 'projectFiles'> | false | undefined;
  /** Diagnostics from language servers; the filesystem tools then report the errors that a change causes. On by default. */
  diagnostics?:
    Omit<DiagnosticsServerOptions, keyof ProjectFilesOptions | 'projectFiles' | 'trust'> | false | undefined;
  /** Tools by which a model steers its own engine. Off by default: `{}` turns it on. */
  agent?: AgentServerOptions | false | undefined;
  /** Whether programs of the project (git hooks and filters, its own language servers) may run. Default: `'untrusted'`, none does. */
  trust?: 'untrusted' | 'trusted' | undefined;
  /**
   * How much of the tools is listed. `'full'`: everything. `'lean'`: fewer tools with shorter descriptions and the usual arguments,
   * for less than half the tokens; the other arguments of these tools still work. Default: `'full'`.
   */
  profile?: 'full' | 'lean' | undefined;
}

/**
 * The standard servers of one project. Nothing is opened or created before the first call that needs it.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a project directory that is relative, missing or too wide
 * @example
 * ```ts
 * const hub = new ToolHub({ providers: [new InProcessToolProvider({ servers: createBuiltinServers({ projectDir }) })] });
 * ```
 */
export function createBuiltinServers(options: BuiltinServersOptions): ToolServer[] {
  refuseWrongOptions(options);
  const {
    filesystem = {},
    bash = {},
    git = {},
    memory = {},
    diagnostics = {},
    agent = false,
    trust,
    profile = 'full',
    ...project
  } = options;
  const projectFiles = new ProjectFiles(project);
  const servers: ToolServer[] = [];
  const checks =
    diagnostics !== false ? createDiagnosticsServer({ ...project, ...diagnostics, trust, projectFiles }) : undefined;
  const afterChange = checks?.afterChange;
  if (filesystem !== false)
    servers.push(createFilesystemServer({ ...project, afterChange, ...filesystem, projectFiles }));
  if (bash !== false) servers.push(createBashServer({ ...project, ...bash, projectFiles }));
  if (git !== false) servers.push(createGitServer({ ...project, ...git, trust, projectFiles }));
  if (memory !== false) servers.push(createMemoryServer({ ...project, ...memory, projectFiles }));
  if (checks) servers.push(checks);
  if (agent !== false) servers.push(createAgentServer(agent));
  if (profile === 'lean') for (const server of servers) applyLeanProfile(server);
  return servers;
}

const SERVERS = ['filesystem', 'bash', 'git', 'memory', 'diagnostics', 'agent'] as const;
const OPTIONS: OptionNames<BuiltinServersOptions> = {
  ...PROJECT_FILES_OPTIONS,
  filesystem: true,
  bash: true,
  git: true,
  memory: true,
  diagnostics: true,
  agent: true,
  trust: true,
  profile: true,
};

/** A misspelt `filesystem: false` would leave the server on. */
function refuseWrongOptions(options: BuiltinServersOptions): void {
  assertOptions('createBuiltinServers()', options, OPTIONS);
  const { profile } = options;
  if (profile !== undefined && profile !== 'full' && profile !== 'lean')
    throw new ToolError('INVALID_ARGUMENT', `profile must be 'full' or 'lean', not ${shownValue(profile)}.`);
  for (const server of SERVERS) {
    const own: unknown = options[server];
    if (own === undefined || own === false || (typeof own === 'object' && own !== null)) continue;
    throw new ToolError('INVALID_ARGUMENT', `${server} must be its options, or false to leave it out.`);
  }
}

assertNodeVersion();
