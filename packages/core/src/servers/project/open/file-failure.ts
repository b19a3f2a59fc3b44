// The error of a failed file operation: a code, the path as the caller knows it, and what to do next. Node's messages
// contain paths of descriptors, which mean nothing to a caller.

import { systemCodeOf, ToolError } from '../../../contract/errors.js';
import { quote } from '../scope/project-scope.js';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; check the owner and the mode',
  EPERM: 'operation not permitted; check the owner, the mode and whether it is immutable',
  EROFS: 'the file system is read-only; write elsewhere',
  ENOSPC: 'the disk is full; free some space and try again',
  EDQUOT: 'the disk quota is used up; free some space and try again',
  ESTALE: 'it no longer exists on its server; list the directory again',
  EBUSY: 'another process is using it; try again',
  ETXTBSY: 'it is a running program; stop that first',
  EFBIG: 'it would exceed the maximum size of the file system',
  EMFILE: 'too many files are open; try again',
  ENFILE: 'too many files are open; try again',
  EIO: 'the disk reported an error',
  ELOOP: 'its links form a loop; give the path of the file itself',
  ENAMETOOLONG: 'the name is too long; use a shorter one',
  ENOENT: 'it no longer exists; list the directory again',
  EEXIST: 'it was created by another process in the meantime; check it first',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  ENXIO: 'it is a FIFO, a socket or a device; only regular files are read and written',
};

/**
 * The error of an operation on a path. A ToolError is returned unchanged.
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

/** Whether a system error shows that an entry changed its type since it was listed. */
export function wasReplaced(error: unknown): boolean {
  return ['ENOTDIR', 'EISDIR', 'ELOOP'].includes(errnoOf(error) ?? '');
}

/**
 * The error for an entry that was replaced since it was checked.
 *
 * @param doing the operation as a participle: `moved`
 */
export function replacedMeanwhile(shown: string, doing: 'moved' | 'copied' | 'deleted'): ToolError {
  return new ToolError(
    'FILE_CHANGED',
    `${quote(shown)}, or something in it, was replaced by another process while it was being ${doing}; the new entry was kept. Check it again.`,
  );
}

/** The errno of a system error, such as `'ENOENT'`. */
export function errnoOf(error: unknown): string | undefined {
  return systemCodeOf(error);
}
