// Links inside .git that lead out of the project: git follows them when it writes, for instance to logs/HEAD. A clone
// never has any; an archive that somebody unpacked may.

import { readdir, readFile, realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { ToolError } from '../../errors.js';
import { isInside, quote, type ProjectScope } from '../project-scope.js';

/** A .git with more entries, objects not counted, is looked at no further and not used. */
const MAX_ENTRIES = 200_000;
/** Objects are named by their content, in directories of two digits; what a link there gives is checked by git. */
const OBJECT_DIRECTORY = /^[0-9a-f]{2}$/;

/**
 * @throws {ToolError} OUTSIDE_PROJECT for a link in the repository's data that leads, or objects that are borrowed from,
 *   outside both the project and the data itself
 */
export async function assertNoLinksOut(scope: ProjectScope, gitDir: string, commonDir: string): Promise<void> {
  const own = [scope.projectDir, gitDir, commonDir];
  const isOwn = (path: string): boolean => own.some((root) => isInside(root, path)) || scope.find(path) !== undefined;
  let seen = 0;
  const visit = async (directory: string): Promise<void> => {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []); // gone meanwhile, or no directory
    seen += entries.length;
    if (seen > MAX_ENTRIES)
      throw new ToolError(
        'TOO_LARGE',
        `The repository's .git has more than ${MAX_ENTRIES} files. Run git pack-refs there.`,
      );
    for (const entry of entries) {
      const path = join(directory, entry.name);
      if (entry.isSymbolicLink()) {
        const target = await realpath(path).catch(() => undefined);
        if (target === undefined || !isOwn(target)) throw leadsOut(path.slice(commonDir.length + 1));
      } else if (entry.isDirectory() && !(directory.endsWith('objects') && OBJECT_DIRECTORY.test(entry.name))) {
        await visit(path);
      }
    }
  };
  for (const root of new Set([gitDir, commonDir])) await visit(root);
  const alternates = await readFile(join(commonDir, 'objects', 'info', 'alternates'), 'utf8').catch(() => '');
  for (const line of alternates.split('\n').filter((text) => text !== '' && !text.startsWith('#'))) {
    const path = isAbsolute(line) ? line : join(commonDir, 'objects', line);
    const target = await realpath(path).catch(() => undefined);
    if (target !== undefined && !isOwn(target)) throw leadsOut('objects/info/alternates');
  }
}

function leadsOut(name: string): ToolError {
  return new ToolError(
    'OUTSIDE_PROJECT',
    `${quote(`.git/${name}`)} leads out of the project. The operator can replace it by a copy, or open the repository with trust: 'trusted'.`,
  );
}
