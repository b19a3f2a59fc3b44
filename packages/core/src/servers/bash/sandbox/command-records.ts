// What has to be known of a sandboxed command to judge the repositories that it made, written down while it runs: a host
// that is killed judges nothing, so the next one for the project does. Where no other user and no command can write.

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isHostGone } from '../../../process/host-identity.js';
import { hostIdentity, type HostIdentity } from '../../../process/index.js';
import { stateDirectory } from '../../../process/journal.js';
import type { MaskedEntry } from './mount-watch.js';

/** What was there before a command. */
export interface CommandRecord {
  projectDir: string;
  all: string[];
  listed: string[];
  /** What the references of each repository led to. */
  tips: [dotGit: string, tips: string[]][];
  /** What was in the data of the repositories. */
  traces: string[];
  masked: MaskedEntry[];
}

/** Writes one down. What comes back removes it, and never rejects. Nothing is written where there is no place for it. */
export async function recordCommand(record: CommandRecord): Promise<() => Promise<void>> {
  const directory = stateDirectory('commands');
  const owner = hostIdentity();
  if (directory === undefined || owner === undefined) return () => Promise.resolve();
  const file = join(directory, randomBytes(8).toString('hex'));
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(file, JSON.stringify({ owner, record }), { flag: 'wx', mode: 0o600 });
  } catch {
    // A home that cannot be written: SECURITY.md says what a killed host leaves.
  }
  return () => unlink(file).catch(() => {}); // not written, or removed by the user
}

/** A record that a killed host left. */
export interface LeftRecord {
  record: CommandRecord;
  /** All that the host ran had ended by then, in milliseconds since 1970; infinite where nothing tells. */
  endedBy: number;
  /** Once it was judged. Never rejects. */
  remove(): Promise<void>;
}

/** Those that killed hosts left for a project. Each is to be removed once it was judged. */
export async function leftRecords(projectDir: string): Promise<LeftRecord[]> {
  const directory = stateDirectory('commands');
  const self = hostIdentity();
  if (directory === undefined || self === undefined) return [];
  const left: LeftRecord[] = [];
  for (const name of await readdir(directory).catch(() => [])) {
    const file = join(directory, name);
    const found = await readRecord(file);
    if (found?.record.projectDir !== projectDir || !isHostGone(found.owner, self)) continue;
    // Made by the watchdog when it has ended what the host left running.
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
    return JSON.parse(await readFile(file, 'utf8')) as { owner: HostIdentity; record: CommandRecord };
  } catch {
    return undefined; // removed meanwhile, or not written to its end: then its command had not started
  }
}
