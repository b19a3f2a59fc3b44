// The target of a link: checked before a link is created, and shown for an existing one.

import { dirname, isAbsolute } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from './file-failure.js';
import { openPath, type OpenedPath } from './opened-path.js';
import { lstatIfThere } from './path-lookup.js';
import type { ProjectScope, ScopePath } from '../scope/project-scope.js';

/**
 * Whether a link with this text in an open directory resolves, or would resolve, outside. The missing part of its path
 * counts as inside unless it contains "..".
 */
export async function leadsOutside(
  scope: ProjectScope,
  requested: ScopePath,
  directory: OpenedPath,
  target: string,
): Promise<boolean> {
  let goesUp = false;
  for (let head = target; ; head = dirname(head)) {
    // Not joined: the system resolves ".." after a link relative to the link's target.
    const address = isAbsolute(head) ? head : `${directory.address}/${head}`;
    try {
      await (await openPath(scope, address, requested)).close();
      return goesUp;
    } catch (error) {
      if (ToolError.isInstance(error)) return true;
      const errno = errnoOf(error);
      if (errno === 'ELOOP') return false; // it is dangling
      if (errno !== 'ENOENT' && errno !== 'ENOTDIR') return true;
      // Anything may be created at the target of a dangling link.
      if (errno === 'ENOENT' && (await lstatIfThere(address).catch(() => undefined))) return true;
      if (dirname(head) === head) return true;
    }
    goesUp ||= head.split('/').at(-1) === '..';
  }
}
