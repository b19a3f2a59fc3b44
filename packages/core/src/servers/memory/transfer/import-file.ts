// A file of the project that is imported: opened once, checked to be inside, and read as a stream.

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

/** @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT for what is no regular file */
export async function openImportFile(files: ProjectFiles, path: string): Promise<ImportSource> {
  const asked = files.scope.parse(path);
  const { handle, stats } = await openRegularFile(files.scope, asked);
  return {
    name: basename(asked.absolute),
    shown: asked.shown,
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
