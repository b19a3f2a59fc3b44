// Which process a placeholder belongs to, in a record whose name says it: a placeholder is empty, so that git ignores it,
// and cannot say so itself. With the record, the next host knows what a killed one left.

import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostIdentity, type HostIdentity } from '../../../process/index.js';
import { isHostGone } from '../../../process/host-identity.js';
import { stateDirectory } from '../../../process/journal.js';
import { errnoOf } from '../../project/open/file-failure.js';

interface OwnerRecord {
  readonly file: string;
  readonly path: string;
  /** Undefined while it is being written. */
  readonly owner: HostIdentity | undefined;
}

let sweeping: Promise<void> | undefined;

/**
 * Records that this process owns the placeholder at a path; to be called before it is created. Returns a function that
 * removes the record. Neither rejects: without a state directory that can be written, a killed host's placeholder stays.
 */
export async function recordOwner(path: string): Promise<() => Promise<void>> {
  const directory = stateDirectory('placeholders');
  const owner = hostIdentity();
  if (directory === undefined || owner === undefined) return () => Promise.resolve();
  await (sweeping ??= prepare(directory, owner));
  const file = join(directory, `${recordPrefix(path)}${owner.pid}-${owner.start}`);
  await writeFile(file, `${owner.place}\n${path}\n`, { mode: 0o600 }).catch(() => {}); // a home that cannot be written
  return () => unlink(file).catch(() => {}); // not written, or removed by the user
}

/** True when the placeholder at a path has a record, and each process that owns it is this one or has ended. */
export async function isLeftBehind(path: string): Promise<boolean> {
  const self = hostIdentity();
  const directory = stateDirectory('placeholders');
  if (!self || directory === undefined) return false;
  const records = await recordsIn(directory, recordPrefix(path));
  return records.length > 0 && records.every(({ owner }) => owner && (isSame(owner, self) || isHostGone(owner, self)));
}

/** Creates the directory, and removes the records of ended hosts whose placeholder no longer exists. */
async function prepare(directory: string, self: HostIdentity): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch(() => {}); // a home that cannot be written
  for (const { file, path, owner } of await recordsIn(directory)) {
    if (!owner || !isHostGone(owner, self)) continue;
    const isMissing = await lstat(path).then(
      () => false,
      (error: unknown) => errnoOf(error) === 'ENOENT',
    );
    if (isMissing) await unlink(file).catch(() => {}); // another host removed it
  }
}

async function recordsIn(directory: string, prefix = ''): Promise<OwnerRecord[]> {
  const names = await readdir(directory).catch(() => []); // no process of this user had a placeholder yet
  return Promise.all(
    names
      .filter((name) => name.startsWith(prefix))
      .map(async (name) => {
        const file = join(directory, name);
        const [place = '', ...rest] = (await readFile(file, 'utf8').catch(() => '')).split('\n');
        const [, pid, start] = /-owned-by-(\d+)-(\d+)$/.exec(name) ?? [];
        const owner = pid && rest.length > 0 ? { place, pid: Number(pid), start: Number(start) } : undefined;
        return { file, path: rest.join('\n').slice(0, -1), owner };
      }),
  );
}

function recordPrefix(path: string): string {
  return `${createHash('sha256').update(path).digest('hex').slice(0, 32)}-owned-by-`;
}

function isSame(a: HostIdentity, b: HostIdentity): boolean {
  return a.place === b.place && a.pid === b.pid && a.start === b.start;
}
