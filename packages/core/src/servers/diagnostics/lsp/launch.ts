// What is run for a language, and why nothing is where nothing can be.

import type { JsonObject } from '../../../contract/json.js';

/** A language server as it was found. */
export interface ServerCommand {
  /** Absolute. */
  command: string;
  args: readonly string[];
  /** The server's version where it is known before it runs. */
  version?: string | undefined;
  /** Added to the environment. */
  extraEnv?: Readonly<Record<string, string>> | undefined;
  initializationOptions?: JsonObject | undefined;
  /** Answers of `workspace/configuration`, by section. */
  settings?: JsonObject | undefined;
  /** What it answers when it is asked for diagnostics is all there is, also while it says that it is at work. */
  pullIsFinal?: boolean | undefined;
  /** It pushes the diagnostics of a version once, so that a list without errors is the answer after a short silence. */
  pushesOnce?: boolean | undefined;
  /** It is typescript-language-server, which hands questions on to tsserver: an exact answer instead of waiting for a push. */
  asksTsserver?: boolean | undefined;
}

/** A language server that is to be started. */
export interface ServerLaunch extends ServerCommand {
  /** As answers call it: `typescript`, `pyright`. */
  name: string;
  /** Never the project unless that is trusted: interpreters look into their working directory for what to load. */
  cwd: string;
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
}

/** Why there is no server for a language. */
export interface MissingServer {
  /** What would help, in whole sentences. */
  hint: string;
}
