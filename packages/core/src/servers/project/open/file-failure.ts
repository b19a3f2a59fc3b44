// What a failed file operation says: a code, the path as the caller knows it, and what to do. Node's own messages name
// descriptors of ours, which help nobody.

import { systemCodeOf, ToolError } from '../../../contract/errors.js';
import { quote } from '../scope/project-scope.js';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'the operating system does not permit it; check the owner and the mode',
  EPERM: 'the operating system does not permit it; check the owner, the mode and whether it is immutable',
  EROFS: 'the file system is read-only; write elsewhere',
  ENOSPC: 'the disk is full; free some space and try again',
  EDQUOT: 'the disk quota is used up; free some space and try again',
  ESTALE: 'it is gone from the server that has it; look at the directory again',
  EBUSY: 'something else holds it; try again',
  ETXTBSY: 'it is a program that runs now; end that first',
  EFBIG: 'it would be larger than the system allows',
  EMFILE: 'too many files are open; try again',
  ENFILE: 'too many files are open; try again',
  EIO: 'the disk reported an error',
  ELOOP: 'its links lead in a circle; name the file itself',
  ENAMETOOLONG: 'the name is too long; use a shorter one',
  ENOENT: 'it is gone; look at the directory again',
  EEXIST: 'something of that name came into being meanwhile; look at it first',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  ENXIO: 'it is a FIFO, a socket or a device; only regular files are read and written',
};

/**
 * The error of an operation on a path. A ToolError comes back as it is.
 *
 * @param action what was tried, as in "Cannot write src/a.ts": `write`
 */
export function fileFailure(error: unknown, action: string, shown: string): ToolError {
  if (ToolError.isInstance(error)) return error;
  const errno = errnoOf(error);
  const { code, message } = ToolError.from(error);
  const reason = (errno !== undefined && REASONS[errno]) || message;
  return new ToolError(code, `Cannot ${action} ${quote(shown)}: ${reason}.`, {
    cause: error,
    ...(errno && { details: { errno } }),
  });
}

/** True for what the system says of an entry that was a directory, or was none, when it was listed. */
export function wasReplaced(error: unknown): boolean {
  return ['ENOTDIR', 'EISDIR', 'ELOOP'].includes(errnoOf(error) ?? '');
}

/**
 * The refusal of an entry that is not what was looked at.
 *
 * @param doing what was being done with it: `moved`
 */
export function replacedMeanwhile(shown: string, doing: 'moved' | 'copied' | 'deleted'): ToolError {
  return new ToolError(
    'FILE_CHANGED',
    `${quote(shown)}, or something in it, was replaced by somebody else while it was being ${doing}; what is there now is left. Look at it again.`,
  );
}

/** The errno of a system error, such as `'ENOENT'`. */
export function errnoOf(error: unknown): string | undefined {
  return systemCodeOf(error);
}
