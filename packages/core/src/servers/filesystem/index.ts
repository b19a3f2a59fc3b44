/**
 * The filesystem server alone: reading, changing, listing and searching the files of a project. Loads no other server.
 *
 * @example
 * ```ts
 * import { InProcessToolProvider, textOf } from '@toolwright/core';
 * import { createFilesystemServer } from '@toolwright/core/servers/filesystem';
 *
 * const server = createFilesystemServer({ projectDir: process.cwd() });
 * await using provider = new InProcessToolProvider({ servers: [server] });
 * const result = await provider.callTool('filesystem.grep', { pattern: 'TODO', glob: '*.md' });
 * console.log(textOf(result));
 * ```
 * @module
 */

import { ToolError } from '../../contract/errors.js';
import { assertOptions, type OptionNames } from '../../contract/options.js';
import { defineServer, type ToolServer } from '../../tool/define-server.js';
import type { AfterChangeHook } from '../project/change-report.js';
import {
  PROJECT_FILES_OPTIONS,
  projectFilesOf,
  type ProjectFiles,
  type ProjectFilesOptions,
} from '../project/project-files.js';
import { applyPatchTool } from './tools/apply-patch.js';
import type { FilesystemContext } from './filesystem-context.js';
import { copyTool } from './tools/copy.js';
import { createDirectoryTool } from './tools/create-directory.js';
import { deleteTool } from './tools/delete.js';
import { editFileTool } from './tools/edit-file.js';
import { globTool } from './tools/glob.js';
import { grepTool } from './tools/grep.js';
import { listDirectoryTool } from './tools/list-directory.js';
import { moveTool } from './tools/move.js';
import { outputLimits, type OutputLimits } from '../project/output-budget.js';
import { readFileTool } from './tools/read-file.js';
import { readManyTool } from './tools/read-many.js';
import { readMediaTool } from './tools/read-media.js';
import type { SearchEngineChoice } from './search/search-engine.js';
import { statTool } from './tools/stat.js';
import { writeFileTool } from './tools/write-file.js';

export type { OutputLimits } from '../project/output-budget.js';
export type { SearchEngineChoice } from './search/search-engine.js';

/** Options of {@link createFilesystemServer}. */
export interface FilesystemServerOptions extends ProjectFilesOptions {
  /** Refuse to change a file that the session has not read, or that changed since. Default: true. */
  requireRead?: boolean | undefined;
  /** Maximum text of one answer; at least 1 line and 16 KiB. Default: 2,000 lines, 50 KiB. */
  output?: Partial<OutputLimits> | undefined;
  /**
   * The search engine of grep and glob. `'rg'`: ripgrep, from its package or from the PATH outside the project; without
   * it they return UNAVAILABLE. `'js'`: the built-in walk, slower, with the same rows. Default: `'auto'`, ripgrep if
   * available, else the built-in walk.
   */
  search?: SearchEngineChoice | undefined;
  /**
   * Called after write_file, edit_file and apply_patch for the errors that the change introduced, which the answer then
   * reports. It has 1.5 s and cannot undo the change. The diagnostics server provides one. Default: none.
   */
  afterChange?: AfterChangeHook | undefined;
  /** The files to work on, shared with other servers; replaces the project options. Default: created from those. */
  projectFiles?: ProjectFiles | undefined;
}

const MIN_OUTPUT_BYTES = 16 * 1024;

const OPTIONS: OptionNames<FilesystemServerOptions> = {
  ...PROJECT_FILES_OPTIONS,
  requireRead: 'boolean',
  output: true,
  search: true,
  afterChange: 'function',
  projectFiles: true,
};

/**
 * Creates the tools that read, change, list and search the files of one project. Before the first call only `projectDir`
 * and the extra roots are accessed.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a project directory that is relative, missing or too wide, or limits that are too small
 * @example
 * ```ts
 * const provider = new InProcessToolProvider({ servers: [createFilesystemServer({ projectDir: '/work/shop' })] });
 * const result = await provider.callTool('filesystem.read_file', { path: 'README.md' });
 * ```
 */
export function createFilesystemServer(options: FilesystemServerOptions): ToolServer {
  assertOptions('createFilesystemServer()', options, OPTIONS);
  const limits = outputLimits('createFilesystemServer()', options.output, MIN_OUTPUT_BYTES);
  const { search = 'auto' } = options;
  // Untyped callers (JavaScript, JSON configuration) may pass another name.
  if (!['auto', 'rg', 'js'].includes(search))
    throw new ToolError('INVALID_ARGUMENT', `search must be 'auto', 'rg' or 'js', not ${JSON.stringify(search)}.`);
  const context: FilesystemContext = {
    files: projectFilesOf(options),
    requireRead: options.requireRead ?? true,
    limits,
    search,
    afterChange: options.afterChange,
  };
  return defineServer({
    name: 'filesystem',
    version: '0.2.0',
    keepsSessionState: true, // the record of what was read, which a change of a file requires
    tools: [
      readFileTool(context),
      readManyTool(context),
      readMediaTool(context),
      writeFileTool(context),
      editFileTool(context),
      applyPatchTool(context),
      listDirectoryTool(context),
      globTool(context),
      grepTool(context),
      statTool(context),
      createDirectoryTool(context),
      moveTool(context),
      copyTool(context),
      deleteTool(context),
    ],
  });
}
