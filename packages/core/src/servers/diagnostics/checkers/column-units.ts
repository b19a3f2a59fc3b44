// Converts columns of checkers that count characters or bytes to UTF-16 units. Only lines that are not plain ASCII differ,
// so a file is read only when necessary.

import type { ProjectFiles } from '../../project/project-files.js';
import type { Found } from './checker-report.js';

/** Converts the columns of diagnostics to UTF-16 units; those of unreadable files are kept. */
export class ColumnUnits {
  readonly #files: ProjectFiles;
  readonly #lines = new Map<string, Promise<readonly string[] | undefined>>();

  constructor(files: ProjectFiles) {
    this.#files = files;
  }

  /** @param path the project-relative path of its file */
  async inUtf16(found: Found, path: string): Promise<Pick<Found, 'column' | 'end_column'>> {
    const { column, end_column } = found;
    const lines = found.columns ? await this.#linesOf(path) : undefined;
    if (!lines || !found.columns) return { column, end_column };
    const units = found.columns;
    return {
      column: toUtf16(lines[found.line - 1] ?? '', column, units),
      end_column: toUtf16(lines[found.end_line - 1] ?? '', end_column, units),
    };
  }

  #linesOf(path: string): Promise<readonly string[] | undefined> {
    let lines = this.#lines.get(path);
    if (!lines) {
      lines = this.#files.read(path).then(
        ({ bytes }) => Buffer.from(bytes).toString('utf8').split(/\r?\n/),
        () => undefined, // too large, or deleted meanwhile
      );
      this.#lines.set(path, lines);
    }
    return lines;
  }
}

/** Converts a column of a line; beyond its end the distance is kept. */
function toUtf16(line: string, column: number, units: 'code-points' | 'bytes'): number {
  if (/^[\0-\x7f]*$/.test(line)) return column;
  let left = column - 1;
  let utf16 = 0;
  for (const character of line) {
    const size = units === 'bytes' ? Buffer.byteLength(character) : 1;
    if (left < size) break;
    left -= size;
    utf16 += character.length;
  }
  return utf16 === line.length ? utf16 + left + 1 : utf16 + 1;
}
