// Approval of configuration files inside a project: a repository may bring one, and it starts programs. A person approves a
// file by the hash of its text, so that a changed file needs approval again.

import { mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { ToolError } from '@toolwright/core';
import { assertOptions, isJsonObject, type OptionNames } from '@toolwright/core/internal';
import type { ReadConfig } from './read-config.js';

/** Where approvals are kept. */
export interface ApprovalOptions {
  /** A directory of this user; absolute. Default: `$XDG_STATE_HOME/toolwright`, else `~/.local/state/toolwright`. */
  stateDir?: string;
}

/** Approved hashes by the real path of the file. */
type Approvals = Record<string, string[]>;

/** How many versions of one file stay approved: a branch switch brings an earlier one back. */
const MAX_VERSIONS = 10;

const OPTIONS: OptionNames<ApprovalOptions> = { stateDir: 'text' };

/**
 * Whether a file is inside the project that it was found in, so that whoever wrote the project may have written the file. The
 * file itself, which can name another project, does not decide that; nor does a link.
 */
export async function isInsideProject({
  file,
  foundIn,
  projectDir,
}: Pick<ReadConfig, 'file' | 'foundIn' | 'projectDir'>): Promise<boolean> {
  const real = await realpath(file);
  const asNamed = join(await realpath(dirname(file)), basename(file));
  const roots = await Promise.all([foundIn, projectDir].map((directory) => realpath(directory).catch(() => directory)));
  return roots.some((root) => isBelow(root, real) || isBelow(root, asNamed));
}

function isBelow(root: string, file: string): boolean {
  const path = relative(root, file);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

/**
 * Refuses a file inside its project that was not approved as it is.
 *
 * @throws {ToolError} APPROVAL_REQUIRED with what the file starts and what it permits
 */
export async function assertApproved(source: ReadConfig, options: ApprovalOptions = {}): Promise<void> {
  assertOptions('assertApproved()', options, OPTIONS);
  if (!(await isInsideProject(source))) return;
  const approvals = await readApprovals(approvalFile(options));
  if (approvals[await realpath(source.file)]?.includes(source.sha256)) return;
  const { starts, permits } = source.effects;
  throw new ToolError(
    'APPROVAL_REQUIRED',
    `${source.file} is inside its project and was not approved as it is. It starts: ${starts.join('; ') || 'nothing'}. ` +
      `${permits.length > 0 ? `It permits: ${permits.join('; ')}. ` : ''}Read it, then approve it, or name it explicitly.`,
    { details: { file: source.file, sha256: source.sha256, starts: [...starts], permits: [...permits] } },
  );
}

/** Approves a file as it was read. */
export async function approveConfig(source: ReadConfig, options: ApprovalOptions = {}): Promise<void> {
  assertOptions('approveConfig()', options, OPTIONS);
  const file = approvalFile(options);
  const approvals = await readApprovals(file);
  const path = await realpath(source.file);
  const others = (approvals[path] ?? []).filter((hash) => hash !== source.sha256);
  approvals[path] = [source.sha256, ...others].slice(0, MAX_VERSIONS);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(approvals, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, file);
}

function approvalFile({ stateDir }: ApprovalOptions): string {
  const base = process.env['XDG_STATE_HOME'];
  const standard = join(base !== undefined && base !== '' ? base : join(homedir(), '.local', 'state'), 'toolwright');
  return join(stateDir ?? standard, 'approved-configurations.json');
}

/** @throws {ToolError} UNAVAILABLE for a file that cannot be read: nothing is approved then */
async function readApprovals(file: string): Promise<Approvals> {
  try {
    const value = JSON.parse(await readFile(file, 'utf8')) as unknown;
    if (isJsonObject(value)) return value as Approvals;
    throw new Error('it is not an object');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return Object.create(null) as Approvals;
    throw new ToolError(
      'UNAVAILABLE',
      `The approvals in ${file} cannot be read: ${(thrown as Error).message}. Remove the file to approve again.`,
    );
  }
}
