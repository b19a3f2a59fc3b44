// Where a link leads: judged before it is made, and shown of one that is there.

import { dirname, isAbsolute } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from './file-failure.js';
import { openPath, type OpenedPath } from './opened-path.js';
import { lstatIfThere } from './path-lookup.js';
import type { ProjectScope, ScopePath } from '../scope/project-scope.js';

/**
 * True when a link in an open directory with this text leads, or would lead, outside. What does not exist of the way is
 * judged by what does: it is inside when nothing in the rest goes up again.
 */
export async function leadsOutside(
  scope: ProjectScope,
  asked: ScopePath,
  directory: OpenedPath,
  target: string,
): Promise<boolean> {
  let goesUp = false;
  for (let head = target; ; head = dirname(head)) {
    // Not joined: the system takes ".." after a link for what is above the link's target.
    const address = isAbsolute(head) ? head : `${directory.address}/${head}`;
    try {
      await (await openPath(scope, address, asked)).close();
      return goesUp;
    } catch (error) {
      if (ToolError.isInstance(error)) return true;
      const errno = errnoOf(error);
      if (errno === 'ELOOP') return false; // it leads nowhere
      if (errno !== 'ENOENT' && errno !== 'ENOTDIR') return true;
      // Behind a link that leads nowhere anything may come to be.
      if (errno === 'ENOENT' && (await lstatIfThere(address).catch(() => undefined))) return true;
      if (dirname(head) === head) return true;
    }
    goesUp ||= head.split('/').at(-1) === '..';
  }
}
