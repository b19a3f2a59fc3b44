// Records which process owns each placeholder, in a file per process: a placeholder is empty, so that git ignores it, and
// cannot contain the record. From these files the next host knows what a killed one left.

import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isHostGone } from '../../../process/host-identity.js';
import { hostIdentity, type HostIdentity } from '../../../process/index.js';
import { stateDirectory } from '../../../process/journal.js';
import { errnoOf } from '../../project/open/file-failure.js';

const FILE_NAME = /^owned-by-(\d+)-(\d+)-[0-9a-f]+$/;
/** Each thread of a process has its own file. */
const suffix = randomBytes(4).toString('hex');

/** The placeholders of this process. */
const owned = new Set<string>();

/**
 * Records that this process owns the placeholder at a path; to be called before it is created. Never rejects: without a
 * state directory that can be written, the placeholder of a killed host stays.
 */
export async function recordOwner(path: string): Promise<void> {
  owned.add(path);
  await save();
}

/** To be called after the placeholder at a path was removed. Never rejects. */
export async function removeOwner(path: string): Promise<void> {
  owned.delete(path);
  await save();
}

/** True when a process has recorded that it owns the placeholder at a path, whether it still runs or has ended. */
export async function hasOwner(path: string): Promise<boolean> {
  return (await ownersOf(path)).length > 0;
}

/** True when another process that may still run owns the placeholder at a path too. */
export async function hasOtherOwner(path: string): Promise<boolean> {
  const self = hostIdentity();
  return self !== undefined && (await ownersOf(path)).some((owner) => !isSame(owner, self) && !isHostGone(owner, self));
}

async function ownersOf(path: string): Promise<HostIdentity[]> {
  const directory = stateDirectory('placeholders');
  if (!hostIdentity() || directory === undefined) return [];
  return (await recordsIn(directory)).filter(({ paths }) => paths.includes(path)).map(({ owner }) => owner);
}

let writing = Promise.resolve();
let queued: Promise<void> | undefined;

/** Writes the file of this process. Changes during a write are written together by the next one. */
function save(): Promise<void> {
  return (queued ??= writing.then(() => {
    queued = undefined;
    return (writing = write());
  }));
}

let prepared: Promise<void> | undefined;

async function write(): Promise<void> {
  const directory = stateDirectory('placeholders');
  const self = hostIdentity();
  if (directory === undefined || self === undefined) return;
  const file = join(directory, `owned-by-${self.pid}-${self.start}-${suffix}`);
  try {
    await (prepared ??= prepare(directory, self));
    if (owned.size === 0) return await unlink(file);
    await writeFile(`${file}.tmp`, JSON.stringify({ place: self.place, paths: [...owned] }), { mode: 0o600 });
    await rename(`${file}.tmp`, file);
  } catch {
    // A home that cannot be written.
  }
}

/** Creates the directory, and removes the files of ended hosts that left no placeholder. */
async function prepare(directory: string, self: HostIdentity): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const { file, paths, owner } of await recordsIn(directory)) {
    if (isHostGone(owner, self) && (await Promise.all(paths.map(isMissing))).every(Boolean))
      await unlink(file).catch(() => {}); // another host removed it
  }
}

interface OwnerRecord {
  readonly file: string;
  readonly owner: HostIdentity;
  readonly paths: readonly string[];
}

async function recordsIn(directory: string): Promise<OwnerRecord[]> {
  const names = await readdir(directory).catch(() => []); // no process of this user had a placeholder yet
  const records = await Promise.all(
    names.map(async (name) => {
      const [, pid, start] = FILE_NAME.exec(name) ?? [];
      const file = join(directory, name);
      if (pid === undefined) return [];
      try {
        const { place, paths } = JSON.parse(await readFile(file, 'utf8')) as { place: string; paths: string[] };
        return [{ file, paths, owner: { place, pid: Number(pid), start: Number(start) } }];
      } catch {
        return []; // removed meanwhile, or not a record
      }
    }),
  );
  return records.flat();
}

async function isMissing(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    (error: unknown) => errnoOf(error) === 'ENOENT',
  );
}

function isSame(a: HostIdentity, b: HostIdentity): boolean {
  return a.place === b.place && a.pid === b.pid && a.start === b.start;
}
