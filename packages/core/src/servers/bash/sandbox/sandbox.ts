// The interface of a sandbox. bubblewrap.ts implements it; a host can provide another.

import type { ProjectScope } from '../../project/scope/project-scope.js';

/** A program to run. */
export interface SandboxCommand {
  /** Absolute. */
  command: string;
  /** The arguments of the program. */
  args: readonly string[];
  /** Absolute path in the project, without links. */
  cwd: string;
  /** The whole environment of the program. */
  env: Readonly<Record<string, string>>;
}

/** A program that runs in a sandbox when it is started. */
export interface SandboxedCommand extends SandboxCommand {
  /**
   * Releases the resources of the sandbox. Called once, after the program has ended. May return what it had to undo, a clause
   * each, for the answer. Never rejects.
   */
  release: () => Promise<readonly string[] | undefined>;
  /** Resolves when the sandbox no longer confines the command, which is then ended immediately. */
  broken?: Promise<void>;
}

/** What a command may reach. */
export interface SandboxRules {
  /** The directories that it may read, and which of them it may write. Of other files, only those that programs need are visible. */
  scope: ProjectScope;
  /** Whether it may use the network. */
  network: boolean;
  /** Further absolute paths that it may read, such as a toolchain's. */
  readable: readonly string[];
}

/**
 * Runs programs so that they reach only the project. When the started program ends or is killed, every process in the sandbox
 * should end.
 *
 * @example
 * ```ts
 * const jail: Sandbox = {
 *   name: 'jail',
 *   wrap: async (run, { scope }) => ({ ...run, command: '/usr/bin/jail', args: ['--rw', scope.projectDir, '--', run.command, ...run.args], release: async () => {} }),
 * };
 * ```
 */
export interface Sandbox {
  /** The sandbox's name, such as `bubblewrap`. */
  readonly name: string;
  /** Checks, once for each connection, that it works on this machine. @throws {ToolError} UNAVAILABLE that says what to do */
  check?(rules: SandboxRules, sample: SandboxCommand): Promise<void>;
  /** Wraps one command. @throws {ToolError} when this project cannot be confined; the command is then not run */
  wrap(run: SandboxCommand, rules: SandboxRules): Promise<SandboxedCommand>;
  /**
   * True when it has its own PID namespace with the started program as its first process, like bubblewrap. Signals except
   * SIGKILL are then sent to the processes in it. Default: false.
   */
  readonly hasOwnProcesses?: boolean;
}
