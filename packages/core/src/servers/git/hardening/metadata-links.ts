// Finds links inside .git whose target is outside, and objects of other repositories (alternates): git follows them even when it
// writes, for instance to logs/HEAD. A clone has none, but an unpacked archive may.

import { readdir, readFile, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { isInside, quote, type ProjectScope } from '../../project/scope/project-scope.js';

/** A .git with more entries, apart from objects, is rejected. */
const MAX_ENTRIES = 200_000;
/** The directories of objects, which need no check: git verifies objects by their hashes. */
const OBJECT_DIRECTORY = /^[0-9a-f]{2}$/;

/** How far git follows alternates of alternates. */
const MAX_BORROWED = 6;

/**
 * @throws {ToolError} OUTSIDE_PROJECT for a link that leads out of the repository's data, and for objects that are
 *   borrowed from outside the project
 */
export async function assertNoLinksOut(scope: ProjectScope, gitDir: string, commonDir: string): Promise<void> {
  let seen = 0;
  const visit = async (directory: string): Promise<void> => {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []); // deleted meanwhile, or not a directory
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
        if (target === undefined || !(isInside(gitDir, target) || isInside(commonDir, target)))
          throw leadsOut(relative(commonDir, path));
      } else if (entry.isDirectory() && !(directory.endsWith('objects') && OBJECT_DIRECTORY.test(entry.name))) {
        await visit(path);
      }
    }
  };
  for (const root of new Set([gitDir, commonDir])) await visit(root);
  await assertNothingBorrowed(scope, commonDir, join(commonDir, 'objects'), 1);
}

async function assertNothingBorrowed(
  scope: ProjectScope,
  commonDir: string,
  objects: string,
  depth: number,
): Promise<void> {
  const text = await readFile(join(objects, 'info', 'alternates'), 'utf8').catch(() => ''); // the usual case
  for (const line of text.split('\n').filter((path) => path !== '' && !path.startsWith('#'))) {
    // A quoted entry uses an escape syntax that only git parses.
    if (line.startsWith('"') || depth > MAX_BORROWED) throw leadsOut('objects/info/alternates');
    const target = await realpath(isAbsolute(line) ? line : join(objects, line)).catch(() => undefined);
    if (target === undefined) continue; // missing, so git ignores it too
    if (!isInside(commonDir, target) && !scope.find(target)) throw leadsOut('objects/info/alternates');
    await assertNothingBorrowed(scope, commonDir, target, depth + 1);
  }
}

function leadsOut(name: string): ToolError {
  return new ToolError(
    'OUTSIDE_PROJECT',
    `${quote(`.git/${name}`)} resolves outside the project. The operator can replace it with a copy, or open the repository with trust: 'trusted'.`,
  );
}
