// Where a search looks: a directory that is held open, or one file in it; and how its results are named.

import { basename, dirname } from 'node:path';
import { ToolError } from '../../errors.js';
import { openPath, type OpenedPath } from '../opened-path.js';
import { lookUp } from '../path-lookup.js';
import type { ProjectFiles } from '../project-files.js';
import { quote } from '../project-scope.js';
import { foldName } from '../protected-paths.js';

/** Close it. */
export interface SearchPlace extends AsyncDisposable {
  directory: OpenedPath;
  /** The only file to look into; undefined for everything below the directory. */
  file: string | undefined;
  /** The path of a result, relative to the directory; undefined for one that is not below it. */
  show(path: string): string | undefined;
}

/** @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT; INVALID_ARGUMENT for what is neither, or is in a repository's own files */
export async function openSearchPlace(files: ProjectFiles, path: string): Promise<SearchPlace> {
  const { scope } = files;
  const asked = scope.parse(path);
  const opened = await lookUp(scope, asked);
  try {
    if (opened.path.shown.split('/').some((name) => foldName(name) === '.git')) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${quote(asked.shown)} is in .git, which is never searched. Read a file there with read_file.`,
      );
    }
    if (opened.stats.isDirectory()) return place(opened, undefined, asked.shown);
    if (!opened.stats.isFile())
      throw new ToolError('INVALID_ARGUMENT', `${quote(asked.shown)} is neither a file nor a directory.`);
  } catch (error) {
    await opened.close();
    throw error;
  }
  const { absolute } = opened.path;
  await opened.close();
  const directory = await openPath(scope, dirname(absolute), asked, { directory: true });
  return place(directory, basename(absolute), asked.shown);
}

function place(directory: OpenedPath, file: string | undefined, shown: string): SearchPlace {
  return {
    directory,
    file,
    show(path) {
      if (file !== undefined) return path === file ? shown : undefined;
      if (path.startsWith('/') || path.split('/').includes('..')) return undefined;
      return shown === '.' ? path : `${shown}/${path}`;
    },
    [Symbol.asyncDispose]: () => directory.close(),
  };
}
