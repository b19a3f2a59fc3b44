// Where output that is too long for memory goes: one directory a connection, for this user alone, gone at its end.

import { lstat, mkdtemp, open, readdir, readlink, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from '../../project/open/file-failure.js';

/** A directory that is made when the first file is. */
export class SpillDirectory {
  #made: Promise<string> | undefined;
  #removed = false;

  /** Makes a file that only this user can read. @throws {ToolError} CONNECTION_CLOSED when the directory was removed */
  async create(name: string): Promise<{ path: string; handle: FileHandle }> {
    this.#assertThere();
    const directory = await (this.#made ??= make());
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

/** mkdtemp makes it 0700, with a name that no one can foresee. Those of hosts that were killed are removed. */
async function make(): Promise<string> {
  // Process numbers mean something in one namespace only, and containers may share a directory for temporary files.
  const namespace = (await readlink('/proc/self/ns/pid').catch(() => '')).replace(/\D/g, '') || '0';
  const prefix = `toolwright-bash-${namespace}-`;
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const [, owner] = name.startsWith(prefix) ? (/^(\d+)-/.exec(name.slice(prefix.length)) ?? []) : [];
    if (owner !== undefined && !isRunning(Number(owner))) await removeOwn(join(tmpdir(), name));
  }
  return mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
}

async function removeOwn(directory: string): Promise<void> {
  try {
    const stats = await lstat(directory);
    if (!stats.isDirectory() || stats.uid !== process.getuid?.()) return;
    await rm(directory, { recursive: true, force: true });
  } catch {
    // Another host removed it, or it is not ours to remove.
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}
