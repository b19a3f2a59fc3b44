// The file of the rows that an import rejects, with the reasons. It is for a person to read, so an import does not fail with it.

import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';

const NAME = 'memories.rejected.jsonl';

/** A rejected row, as a line of the file. */
interface RejectedRow {
  /** The name of the imported file. */
  source: string;
  reason: string;
  /** The text of the row; null if the file as a whole is at fault. */
  row: string | null;
}

export class RejectedFile {
  readonly #path: string;
  #descriptor: number | undefined;
  #wasWritten = false;
  #fault: string | undefined;

  /** @param directory must exist when the first row is added */
  constructor(directory: string) {
    this.#path = join(directory, NAME);
  }

  /** Whether the rejected rows were written, or why not; neither if there were none. */
  get outcome(): { rejectedFile?: string; rejectedFault?: string } {
    if (this.#fault !== undefined) return { rejectedFault: this.#fault };
    return this.#wasWritten ? { rejectedFile: NAME } : {};
  }

  /** Writes a row. The first one creates the file, or replaces its content. Does nothing after a failure. */
  add(row: RejectedRow): void {
    if (this.#fault !== undefined) return;
    try {
      const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW = 0 } = constants;
      this.#descriptor ??= openSync(this.#path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
      writeSync(this.#descriptor, `${JSON.stringify(row)}\n`);
      this.#wasWritten = true;
    } catch (error) {
      this.#fault =
        errnoOf(error) === 'ELOOP'
          ? `${NAME} is a symbolic link, which is not followed`
          : fileFailure(error, 'write', NAME).message.replace(/\.$/, '');
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
