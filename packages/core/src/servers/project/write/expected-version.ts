// Checks that a file has the version that the caller means to change, and creates the errors if it does not.

import { ToolError } from '../../../contract/errors.js';
import type { CurrentFile } from '../open/file-content.js';
import type { WriteTarget } from '../open/path-lookup.js';
import { quote, type ScopePath } from '../scope/project-scope.js';
import type { ReadTracker } from './read-tracker.js';
import { staleFile, type KnownVersion } from './stale-difference.js';

/** The conditions for a change. */
export interface ExpectedVersion {
  /** The session whose reads count, see {@link requireRead}. */
  sessionId?: string | undefined;
  /** Refuse to change a file that this session has not read, or that changed since. Default: false. */
  requireRead?: boolean | undefined;
  /** Refuse unless the file has this etag. With {@link requireRead} it replaces reading the file if any session has read that version. */
  ifMatch?: string | undefined;
  /** Refuse if the file exists. Default: false. */
  createOnly?: boolean | undefined;
  /** Refuse if it does not exist. Default: false. */
  mustExist?: boolean | undefined;
}

/**
 * @param takesEtag whether the caller can repeat the change with an etag, which the refusal then offers
 * @throws {ToolError} READ_REQUIRED; FILE_CHANGED with the difference; NOT_FOUND or INVALID_ARGUMENT when it does not exist, or exists
 */
export async function assertExpected(
  tracker: ReadTracker,
  requested: ScopePath,
  target: WriteTarget,
  current: CurrentFile | undefined,
  expected: ExpectedVersion,
  takesEtag: boolean,
): Promise<void> {
  const shown = quote(requested.shown);
  const version = (etag: string): KnownVersion => ({ etag, bytes: tracker.contentOf(etag) });
  if (!current || !target.stats) {
    if (expected.ifMatch !== undefined)
      throw new ToolError('FILE_CHANGED', `${shown} no longer exists; omit if_match to create it.`);
    if (expected.mustExist) throw new ToolError('NOT_FOUND', `${shown} does not exist; create it with write_file.`);
    return;
  }
  if (expected.createOnly)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${shown} exists already, and create_only is set. Use another name, or read and change the file.`,
    );
  const { dev, ino } = target.stats;
  const file = { path: target.path.absolute, dev, ino };
  const { sessionId, ifMatch, requireRead } = expected;
  const stale = async (how: string, etag: string, isKnown: boolean): Promise<ToolError> => {
    const offersEtag = takesEtag && (isKnown || !requireRead);
    const error = await staleFile(requested.shown, how, version(etag), current, offersEtag);
    if (isKnown && error.details?.difference === 'whole') tracker.noteGiven(file.path, current.etag);
    return error;
  };
  if (ifMatch !== undefined && ifMatch !== current.etag) {
    const how = `has the etag ${current.etag}, not ${quote(ifMatch)}: it has changed since`;
    throw await stale(how, ifMatch, tracker.hasSeen(sessionId, file, ifMatch));
  }
  if (!requireRead || tracker.hasSeen(sessionId, file, current.etag)) return;
  // An etag counts as read only if the content was returned with it: stat and errors return the etag alone.
  if (ifMatch !== undefined && tracker.wasGiven(file.path, ifMatch)) return;
  const seen = tracker.etagOf(sessionId, file);
  if (seen === undefined)
    throw new ToolError(
      'READ_REQUIRED',
      `${shown} exists and has not been read. Read it with read_file before changing it.`,
    );
  throw await stale('has changed since it was read', seen, true);
}
