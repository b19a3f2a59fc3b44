// Opens a file of the project for an import: once, verified to be inside the project, and read as a stream.

import { basename } from 'node:path';
import { openRegularFile } from '../../project/open/path-lookup.js';
import type { ProjectFiles } from '../../project/project-files.js';

export interface ImportSource {
  name: string;
  shown: string;
  modifiedMs: number;
  text(): AsyncIterable<string>;
  close(): Promise<void>;
}

/** @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT when it is not a regular file */
export async function openImportFile(files: ProjectFiles, path: string): Promise<ImportSource> {
  const parsed = files.scope.parse(path);
  const { handle, stats } = await openRegularFile(files.scope, parsed);
  return {
    name: basename(parsed.absolute),
    shown: parsed.shown,
    modifiedMs: Number(stats.mtimeMs),
    text: () =>
      handle.createReadStream({
        encoding: 'utf8',
        autoClose: false,
        highWaterMark: 256 * 1024,
      }) as AsyncIterable<string>,
    close: () => handle.close(),
  };
}
