// What the tools of this server stand on: made once a server, and, with the commands in it, once a connection.

import type { OutputLimits } from '../project/output-budget.js';
import type { ProjectFiles } from '../project/project-files.js';
import type { Jobs } from './jobs/job-registry.js';
import type { Sandbox } from './sandbox/sandbox.js';
import type { SandboxChoice, SandboxMode } from './sandbox/choose-sandbox.js';

/** What the operator chose. */
export interface BashContext {
  files: ProjectFiles;
  sandbox: SandboxMode;
  sandboxWith: Sandbox | undefined;
  /** Directories and files that a sandboxed command may read beside the project and the system's programs. */
  readable: readonly string[];
  network: boolean;
  shell: string | undefined;
  env: Readonly<Record<string, string>>;
  limits: OutputLimits;
  maxSpillBytes: number;
}

/** What a connection has; `ctx.state` of every tool. */
export interface BashState {
  jobs: Jobs;
  /** Looked for by the first command, and kept. A failure is looked at again by the next. */
  shell: Promise<string> | undefined;
  choice: Promise<SandboxChoice> | undefined;
}
