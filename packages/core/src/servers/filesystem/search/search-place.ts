// The place of a search: an open directory, or one file in it; and the paths of its results.

import { basename, dirname } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { permitsAll } from '../../../tool/define-tool.js';
import { openPath, type OpenedPath } from '../../project/open/opened-path.js';
import { lookUp } from '../../project/open/path-lookup.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { quote } from '../../project/scope/project-scope.js';
import { foldName } from '../../project/scope/protected-paths.js';

/** The place of a search. Hold it with `await using`. */
export interface SearchPlace extends AsyncDisposable {
  directory: OpenedPath;
  /** The only file to search; undefined for everything below the directory. */
  file: string | undefined;
  /** The path of a result, relative to the directory; undefined for one that is not below it, or not permitted. */
  show(path: string): string | undefined;
  /** The number of paths that were not permitted. */
  readonly withheld: number;
}

/**
 * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT; INVALID_ARGUMENT for a path that is neither file nor directory, or is
 *   inside .git
 */
export async function openSearchPlace(
  files: ProjectFiles,
  path: string,
  permits: (shown: string) => boolean,
): Promise<SearchPlace> {
  const { scope } = files;
  const requested = scope.parse(path);
  const opened = await lookUp(scope, requested);
  try {
    if (opened.path.shown.split('/').some((name) => foldName(name) === '.git')) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${quote(requested.shown)} is in .git, which is not searched. Use read_file for files in it.`,
      );
    }
    if (opened.stats.isDirectory()) return new OpenSearchPlace(opened, undefined, requested.shown, permits);
    if (!opened.stats.isFile())
      throw new ToolError('INVALID_ARGUMENT', `${quote(requested.shown)} is neither a file nor a directory.`);
  } catch (error) {
    await opened.close();
    throw error;
  }
  const { absolute } = opened.path;
  await opened.close();
  const directory = await openPath(scope, dirname(absolute), requested, { directory: true });
  return new OpenSearchPlace(directory, basename(absolute), requested.shown, permits);
}

class OpenSearchPlace implements SearchPlace {
  readonly directory: OpenedPath;
  readonly file: string | undefined;
  readonly #shown: string;
  readonly #permits: (shown: string) => boolean;
  readonly #withheld = new Set<string>();

  constructor(directory: OpenedPath, file: string | undefined, shown: string, permits: (shown: string) => boolean) {
    this.directory = directory;
    this.file = file;
    this.#shown = shown;
    this.#permits = permits;
  }

  get withheld(): number {
    return this.#withheld.size;
  }

  show(path: string): string | undefined {
    if (this.file !== undefined) return path === this.file ? this.#shown : undefined; // it was claimed by its name
    if (path.startsWith('/') || path.split('/').includes('..')) return undefined;
    const shown = below(this.#shown, path);
    if (this.#permits === permitsAll) return shown;
    // Also checks its real name, if the place was reached through a link.
    if (this.#permits(shown) && this.#permits(below(this.directory.path.shown, path))) return shown;
    this.#withheld.add(path);
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.directory.close();
  }
}

function below(directory: string, path: string): string {
  return directory === '.' ? path : `${directory}/${path}`;
}
