// Where output that is too long for memory goes: one directory a connection, for this user alone, gone at its end.

import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError } from '../../errors.js';

/** A directory that is made when the first file is. */
export class SpillDirectory {
  #made: Promise<string> | undefined;
  #removed = false;

  /** Makes a file that only this user can read. @throws {ToolError} CONNECTION_CLOSED when the directory was removed */
  async create(name: string): Promise<{ path: string; handle: FileHandle }> {
    this.#assertThere();
    // mkdtemp makes it 0700, with a name that nobody can foresee.
    const directory = await (this.#made ??= mkdtemp(join(tmpdir(), 'toolwright-bash-')));
    this.#assertThere();
    const path = join(directory, name);
    return { path, handle: await open(path, 'wx+', 0o600) };
  }

  /** Removes it with all files. */
  async remove(): Promise<void> {
    this.#removed = true;
    const directory = await this.#made?.catch(() => undefined); // it could not be made: nothing to remove
    if (directory !== undefined) await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  }

  #assertThere(): void {
    if (this.#removed) throw new ToolError('CONNECTION_CLOSED', 'The provider was disconnected.');
  }
}
