// The program for a language, or why there is none.

import type { JsonObject } from '../../../contract/json.js';

/** A language server that was found. */
export interface ServerCommand {
  /** Absolute. */
  command: string;
  args: readonly string[];
  /** The server's version, if known before it runs. */
  version?: string | undefined;
  /** Added to the environment. */
  extraEnv?: Readonly<Record<string, string>> | undefined;
  initializationOptions?: JsonObject | undefined;
  /** Settings for `workspace/configuration`, by section. */
  settings?: JsonObject | undefined;
  /** True if pulled diagnostics are complete even while it reports progress. */
  pullIsFinal?: boolean | undefined;
  /** True if it pushes diagnostics once per version, so that an empty list is complete after a short wait. */
  pushesOnce?: boolean | undefined;
  /** True for typescript-language-server, which forwards requests to tsserver: an exact result without waiting for a push. */
  asksTsserver?: boolean | undefined;
}

/** A language server to start. */
export interface ServerLaunch extends ServerCommand {
  /** Its name in results: `typescript`, `pyright`. */
  name: string;
  /** The working directory; never an untrusted project, as interpreters load files from it. */
  cwd: string;
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
}

/** A missing server for a language. */
export interface MissingServer {
  /** How to install it, in whole sentences. */
  hint: string;
}
