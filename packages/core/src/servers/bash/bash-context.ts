// What the bash tools share: the options of the server, and the state of a connection.

import type { OutputLimits } from '../project/output-budget.js';
import type { ProjectFiles } from '../project/project-files.js';
import type { Jobs } from './jobs/job-registry.js';
import type { Sandbox } from './sandbox/sandbox.js';
import type { SandboxChoice, SandboxMode } from './sandbox/choose-sandbox.js';

/** The options of the server, with defaults. */
export interface BashContext {
  files: ProjectFiles;
  sandbox: SandboxMode;
  sandboxWith: Sandbox | undefined;
  /** Further directories and files that a sandboxed command may read. */
  readable: readonly string[];
  network: boolean;
  shell: string | undefined;
  env: Readonly<Record<string, string>>;
  limits: OutputLimits;
  maxSpillBytes: number;
}

/** The state of a connection: `ctx.state` of every tool. */
export interface BashState {
  jobs: Jobs;
  /** Found by the first command and cached. After a failure the next command searches again. */
  shell: Promise<string> | undefined;
  choice: Promise<SandboxChoice> | undefined;
}
