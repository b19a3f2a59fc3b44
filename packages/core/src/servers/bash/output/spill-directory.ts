// The directory for output that is too long for memory: one for each connection, readable by this user only, removed with
// the connection.

import { processExists } from '../../../process/process-group.js';
import { lstat, mkdtemp, open, readdir, readlink, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';

/** A directory that is created with its first file. */
export class SpillDirectory {
  #created: Promise<string> | undefined;
  #removed = false;

  /** Creates a file that only this user can read. @throws {ToolError} CONNECTION_CLOSED when the directory was removed */
  async create(name: string): Promise<{ path: string; handle: FileHandle }> {
    this.#assertOpen();
    const directory = await (this.#created ??= createDirectory());
    this.#assertOpen();
    const path = join(directory, name);
    return { path, handle: await open(path, 'wx+', 0o600) };
  }

  /** Removes the directory with its files. */
  async remove(): Promise<void> {
    this.#removed = true;
    const directory = await this.#created?.catch(() => undefined); // it was never created
    if (directory !== undefined) await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  }

  #assertOpen(): void {
    if (this.#removed) throw new ToolError('CONNECTION_CLOSED', 'The provider was disconnected.');
  }
}

/** mkdtemp creates it with mode 0700 and an unpredictable name. Those of killed hosts are removed. */
async function createDirectory(): Promise<string> {
  // Pids are valid in one namespace only, and containers may share a temporary directory.
  const namespace = (await readlink('/proc/self/ns/pid').catch(() => '')).replace(/\D/g, '') || '0';
  const prefix = `toolwright-bash-${namespace}-`;
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const [, owner] = name.startsWith(prefix) ? (/^(\d+)-/.exec(name.slice(prefix.length)) ?? []) : [];
    if (owner !== undefined && !processExists(Number(owner))) await removeOwn(join(tmpdir(), name));
  }
  return mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
}

async function removeOwn(directory: string): Promise<void> {
  try {
    const stats = await lstat(directory);
    if (!stats.isDirectory() || stats.uid !== process.getuid?.()) return;
    await rm(directory, { recursive: true, force: true });
  } catch {
    // Another host removed it, or it belongs to another user.
  }
}
