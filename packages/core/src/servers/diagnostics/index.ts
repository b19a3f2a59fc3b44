/**
 * The diagnostics server alone: errors, definitions, references and renames from language servers and checkers. Loads
 * no other server.
 *
 * @example
 * ```ts
 * import { InProcessToolProvider, textOf } from '@toolwright/core';
 * import { createDiagnosticsServer } from '@toolwright/core/servers/diagnostics';
 *
 * const server = createDiagnosticsServer({ projectDir: process.cwd() });
 * await using provider = new InProcessToolProvider({ servers: [server] });
 * const result = await provider.callTool('diagnostics.servers', {});
 * console.log(textOf(result)); // the language servers that are available
 * ```
 * @module
 */

import { isAbsolute } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, shownValue, type OptionNames } from '../../contract/options.js';
import { defineServer, type ToolServer } from '../../tool/define-server.js';
import { outputLimits, type OutputLimits } from '../project/output-budget.js';
import {
  PROJECT_FILES_OPTIONS,
  projectFilesOf,
  type ProjectFiles,
  type ProjectFilesOptions,
} from '../project/project-files.js';
import type { AfterChangeHook } from '../project/change-report.js';
import { afterChangeHook } from './files/diagnostics-after-change.js';
import { checkErrorsTool } from './tools/check-errors.js';
import { checkProjectTool } from './tools/check-project.js';
import { checkersWith, type CheckerOptions } from './checkers/checkers.js';
import type { DiagnosticsContext } from './diagnostics-context.js';
import { customPreset, type LanguageServerOptions } from './presets/custom-server.js';
import { diagnosticsTool } from './tools/diagnostics.js';
import { hoverTool } from './tools/hover.js';
import { LanguageServers } from './lsp/language-servers.js';
import { LOCATION_TOOLS } from './tools/locations.js';
import { presets } from './presets/presets.js';
import { ProgramPlaces } from './presets/program-places.js';
import { renameTool } from './tools/rename.js';
import { serversTool } from './tools/servers.js';
import { symbolsTool } from './tools/symbols.js';

export type { CheckerFormat, CheckerOptions } from './checkers/checkers.js';
export type { LanguageServerOptions } from './presets/custom-server.js';

/** Options of {@link createDiagnosticsServer}. */
export interface DiagnosticsServerOptions extends ProjectFilesOptions {
  /**
   * `'untrusted'`: no program or package of the project is run, not even its TypeScript. `'trusted'`: programs
   * installed in the project take precedence. Default: `'untrusted'`.
   */
  trust?: 'untrusted' | 'trusted' | undefined;
  /** The absolute path of a TypeScript package, version 5 or later. Default: the host application's, or that on the PATH. */
  typescript?: string | undefined;
  /** Custom language servers; they replace known ones of the same name or for the same extensions. Default: none. */
  servers?: readonly LanguageServerOptions[] | undefined;
  /** Custom checkers for `check_project`; they replace known ones of the same name. Default: none. */
  checkers?: readonly CheckerOptions[] | undefined;
  /** How long a server may take to start, in milliseconds, 1,000 to 600,000. Default: 45,000. */
  initializeTimeoutMs?: number | undefined;
  /** The time limit of definition, references, hover, symbols and rename, in milliseconds, 100 to 600,000. Default: 30,000. */
  requestTimeoutMs?: number | undefined;
  /** How long a server may be idle before it is stopped, in milliseconds, 100 to 86,400,000. Default: 600,000. */
  idleMs?: number | undefined;
  /** The limits of the text of one result; at least 1 line and 1 KiB. Default: 2,000 lines, 50 KiB. */
  output?: Partial<OutputLimits> | undefined;
  /** The project's files, shared with other servers; replaces the project options. Default: created from the project options. */
  projectFiles?: ProjectFiles | undefined;
}

/** A {@link ToolServer} that can also report the errors caused by a change. */
export interface DiagnosticsServer extends ToolServer {
  /** For the filesystem server's option of this name. Reports nothing while no provider runs the server. */
  readonly afterChange: AfterChangeHook;
}

const OPTIONS: OptionNames<DiagnosticsServerOptions> = {
  ...PROJECT_FILES_OPTIONS,
  trust: true,
  typescript: true,
  servers: 'array',
  checkers: 'array',
  initializeTimeoutMs: true,
  requestTimeoutMs: true,
  idleMs: true,
  output: true,
  projectFiles: true,
};

/**
 * The tools that ask language servers about one project. Nothing is looked for or started before the first call.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a project directory that is relative, missing or too wide, or a wrong option
 * @example
 * ```ts
 * const provider = new InProcessToolProvider({ servers: [createDiagnosticsServer({ projectDir: '/work/shop' })] });
 * const result = await provider.callTool('diagnostics.check_errors', { path: 'src/main.ts' });
 * ```
 */
export function createDiagnosticsServer(options: DiagnosticsServerOptions): DiagnosticsServer {
  assertOptions('createDiagnosticsServer()', options, OPTIONS);
  const { trust = 'untrusted', typescript } = options;
  // Any other value (from JavaScript or JSON) must not count as trust.
  if (trust !== 'untrusted' && trust !== 'trusted')
    throw wrong(`trust must be 'untrusted' or 'trusted', not ${JSON.stringify(trust)}.`);
  if (typescript !== undefined && !(typeof typescript === 'string' && isAbsolute(typescript)))
    throw wrong(`typescript must be the absolute path of a TypeScript package, not ${JSON.stringify(typescript)}.`);
  const limits = outputLimits('createDiagnosticsServer()', options.output);
  const times = {
    initializeTimeoutMs: milliseconds('initializeTimeoutMs', options.initializeTimeoutMs, 45_000, 1_000, 600_000),
    idleMs: milliseconds('idleMs', options.idleMs, 600_000, 100, 86_400_000),
  };
  const custom = (options.servers ?? []).map(customPreset);
  const names = new Set(custom.map(({ name }) => name));
  if (names.size < custom.length) throw wrong('servers contains two entries of one name; rename one.');
  const known = presets(typescript).filter(({ name }) => !names.has(name));
  const files = projectFilesOf(options);
  let running: LanguageServers | undefined;
  let users = 0;
  const context: DiagnosticsContext = {
    files,
    limits,
    requestTimeoutMs: milliseconds('requestTimeoutMs', options.requestTimeoutMs, 30_000, 100, 600_000),
    servers: () => running ?? notStarted(),
  };
  const server = defineServer({
    name: 'diagnostics',
    version: '0.2.0',
    tools: [
      diagnosticsTool(context),
      checkErrorsTool(context),
      checkProjectTool({ files, trust, limits, checkers: checkersWith(options.checkers ?? [], typescript) }),
      ...LOCATION_TOOLS.map((make) => make(context)),
      hoverTool(context),
      symbolsTool(context),
      renameTool(context),
      serversTool(context),
    ],
    // Several providers that run this server share its language servers; the last one ends them.
    start(): unknown {
      users++;
      return (running ??= new LanguageServers({
        files,
        places: new ProgramPlaces(files.scope, trust),
        presets: [...custom, ...known],
        times,
      }));
    },
    async stop() {
      if (--users > 0) return;
      const servers = running;
      running = undefined;
      await servers?.close();
    },
  });
  return Object.assign(server, { afterChange: afterChangeHook(context, () => running) });
}

function milliseconds(name: string, value: number | undefined, standard: number, least: number, most: number): number {
  if (value === undefined) return standard;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw wrong(`${name} must be ${least} to ${most} milliseconds, not ${shownValue(value)}.`);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}

function notStarted(): never {
  throw new ToolError('NOT_CONNECTED', 'The diagnostics server is not started; connect its provider.');
}
