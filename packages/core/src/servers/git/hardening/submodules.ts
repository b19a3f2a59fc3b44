// Reads the configuration of submodules: git enters them to check for changes, and would run programs that they configure.
// Submodules are located in the same way as git does.

import { lstat, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { showName } from '../../project/open/directory-entries.js';
import { quote } from '../../project/scope/project-scope.js';
import { NulRecords } from '../repository/nul-records.js';
import type { ConfigEntry } from './repository-config.js';

const MAX_SUBMODULES = 500;
const MAX_DEPTH = 20;
const GITLINK = '160000';

/** Runs git in a submodule's directory, the one with its `.git`. */
export interface SubmoduleScan {
  top: string;
  list: (directory: string, onOutput: (chunk: Buffer) => boolean) => Promise<unknown>;
  topOf: (directory: string) => Promise<string>;
  config: (directory: string) => Promise<ConfigEntry[]>;
}

/**
 * The configuration of all checked-out submodules, recursively.
 *
 * @throws {ToolError} TOO_LARGE for more than 500, PERMISSION_DENIED for one that cannot be checked
 */
export async function submoduleEntries({ top, list, topOf, config }: SubmoduleScan): Promise<ConfigEntry[]> {
  const entries: ConfigEntry[] = [];
  let count = 0;
  const visit = async (directory: string, depth: number): Promise<void> => {
    for (const name of await gitlinksOf(directory, list)) {
      const below = join(directory, name);
      if (!(await lstat(join(below, '.git')).catch(() => undefined))) continue; // not checked out, so git does not enter it
      count++;
      if (count > MAX_SUBMODULES || depth > MAX_DEPTH)
        throw new ToolError(
          'TOO_LARGE',
          `The repository has more than ${MAX_SUBMODULES} submodules, or submodules nested deeper than ${MAX_DEPTH}, which cannot be checked. ` +
            "The operator can open it with trust: 'trusted'.",
        );
      // Nested submodules are searched below its top level; a working tree elsewhere would hide them.
      if ((await topOf(below)) !== (await realpath(below))) throw notJudged(name, 'has its working tree elsewhere');
      for (const entry of await config(below)) entries.push(entry);
      await visit(below, depth + 1);
    }
  };
  await visit(top, 1);
  return entries;
}

async function gitlinksOf(directory: string, list: SubmoduleScan['list']): Promise<string[]> {
  const links = new Set<string>();
  const records = new NulRecords((record) => {
    // mode, space, object, space, stage, tab, path
    if (record.toString('latin1', 0, GITLINK.length) !== GITLINK) return;
    const bytes = record.subarray(record.indexOf(0x09) + 1);
    const name = bytes.toString('utf8');
    if (!Buffer.from(name).equals(bytes)) throw notJudged(showName(bytes), 'has a name that is not UTF-8');
    links.add(name);
  });
  await list(directory, (chunk) => records.push(chunk));
  return [...links];
}

function notJudged(name: string, why: string): ToolError {
  return new ToolError(
    'PERMISSION_DENIED',
    `The submodule ${quote(name)} ${why}, so what git would run in it cannot be checked. The operator can open the repository with trust: 'trusted'.`,
  );
}
