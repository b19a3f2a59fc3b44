// The state before a sandboxed command, recorded while it runs: when the host is killed, the next host for the project
// reviews what the command made. Stored where no other user and no command can write.

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isHostGone } from '../../../process/host-identity.js';
import { hostIdentity, type HostIdentity } from '../../../process/index.js';
import { stateDirectory } from '../../../process/journal.js';
import type { MaskedEntry } from './mount-watch.js';

/** The state before a command. */
export interface CommandRecord {
  projectDir: string;
  all: string[];
  listed: string[];
  /** The objects that the references of each repository named. */
  tips: [dotGit: string, tips: string[]][];
  /** Keys of the traces in the data of the repositories. */
  traces: string[];
  masked: MaskedEntry[];
}

/** Writes a record. Returns a function that removes it. Neither rejects: without a state directory no record is written. */
export async function recordCommand(record: CommandRecord): Promise<() => Promise<void>> {
  const directory = stateDirectory('commands');
  const owner = hostIdentity();
  if (directory === undefined || owner === undefined) return () => Promise.resolve();
  const file = join(directory, randomBytes(8).toString('hex'));
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(file, JSON.stringify({ owner, record }), { flag: 'wx', mode: 0o600 });
  } catch {
    // A home that cannot be written. SECURITY.md says what a killed host then leaves.
  }
  return () => unlink(file).catch(() => {}); // not written, or removed by the user
}

/** The record of a killed host. */
export interface LeftRecord {
  record: CommandRecord;
  /** When every process of the host had ended, in milliseconds since 1970; infinite when unknown. */
  endedBy: number;
  /** To be called after the review. Never rejects. */
  remove(): Promise<void>;
}

/** The records of killed hosts for a project. Each is to be removed after its review. */
export async function leftRecords(projectDir: string): Promise<LeftRecord[]> {
  const directory = stateDirectory('commands');
  const self = hostIdentity();
  if (directory === undefined || self === undefined) return [];
  const left: LeftRecord[] = [];
  for (const name of await readdir(directory).catch(() => [])) {
    const file = join(directory, name);
    const found = await readRecord(file);
    if (found?.record.projectDir !== projectDir || !isHostGone(found.owner, self)) continue;
    // Written by the watchdog after it has ended what the host left running.
    const ended = join(directory, `ended.${found.owner.pid}.${found.owner.start}`);
    const endedBy = await stat(ended).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    const remove = async (): Promise<void> => {
      for (const each of [file, ended]) await unlink(each).catch(() => {}); // another host removed it
    };
    left.push({ record: found.record, endedBy, remove });
  }
  return left;
}

async function readRecord(file: string): Promise<{ owner: HostIdentity; record: CommandRecord } | undefined> {
  try {
    const found = JSON.parse(await readFile(file, 'utf8')) as { owner: HostIdentity; record: CommandRecord };
    return Array.isArray(found.record.masked) ? found : undefined; // another version's
  } catch {
    return undefined; // removed meanwhile, or incomplete: then its command had not started
  }
}
