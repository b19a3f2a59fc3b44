// What a sandbox is to this server, and the choice of one. bubblewrap.ts is the one that comes along; a host can bring
// another.

import type { ProjectScope } from '../../project/scope/project-scope.js';

/** A program that is to be run, before and after it was wrapped. */
export interface SandboxCommand {
  /** Absolute. */
  command: string;
  /** The arguments of the program. */
  args: readonly string[];
  /** Absolute, real, inside the project. */
  cwd: string;
  /** Whole: nothing else may reach the program. */
  env: Readonly<Record<string, string>>;
}

/** A program that runs in a sandbox once it is started. */
export interface SandboxedCommand extends SandboxCommand {
  /**
   * Undoes what was made for it. Called once, after it has ended. May give what it had to undo of what the command did:
   * a clause each, which the answer shows. Never rejects.
   */
  release: () => Promise<readonly string[] | undefined>;
  /** Resolves when the sandbox holds the command no longer: it is then ended at once. */
  broken?: Promise<void>;
}

/** What a command may reach. */
export interface SandboxRules {
  /** The directories that it may see, and of these the ones that it may write; the rest of the disk it sees at most as far as programs need. */
  scope: ProjectScope;
  /** It may use the network. */
  network: boolean;
  /** What it may read beside that: absolute paths of directories and files, such as a toolchain's. */
  readable: readonly string[];
}

/**
 * A way to run programs so that they reach nothing but the project. What it promises is its own affair; it should end
 * everything inside when the started program ends, or is killed.
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
  /** Looks, once a connection, whether it works here. @throws {ToolError} UNAVAILABLE that says what to do */
  check?(rules: SandboxRules, sample: SandboxCommand): Promise<void>;
  /** Wraps one command. @throws {ToolError} when this project cannot be held; the command is then not run */
  wrap(run: SandboxCommand, rules: SandboxRules): Promise<SandboxedCommand>;
  /**
   * True when it has process numbers of its own, the started program at their head, as bubblewrap has: signals but
   * SIGKILL then go to what runs in it. Default: false.
   */
  readonly hasOwnProcesses?: boolean;
}
