// Placeholders of other hosts: records as placeholder-owners.ts writes them.

import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { hostIdentity, type HostIdentity } from '../../../../src/process/index.js';
import { stateDirectory } from '../../../../src/process/journal.js';

/** A process that does not run: no number of a process is as high. */
export const ENDED = { pid: 4_194_305, start: 1 };

/** Records, until the end of the test, that a process owns the placeholder at a path. */
export async function recordPlaceholder(
  path: string,
  { pid, start, place = hostIdentity()?.place }: Pick<HostIdentity, 'pid' | 'start'> & Partial<HostIdentity>,
): Promise<void> {
  const directory = stateDirectory('placeholders') as string;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `owned-by-${pid}-${start}-${randomBytes(4).toString('hex')}`);
  onTestFinished(() => rm(file, { force: true }));
  await writeFile(file, JSON.stringify({ place, paths: [path] }));
}
