// Whether a file is in the version that its caller means to change, and what they are told when it is not.

import { ToolError } from '../../../contract/errors.js';
import type { CurrentFile } from '../open/file-content.js';
import type { WriteTarget } from '../open/path-lookup.js';
import { quote, type ScopePath } from '../scope/project-scope.js';
import type { ReadTracker } from './read-tracker.js';
import { staleFile, type KnownVersion } from './stale-difference.js';

/** What a change must find. */
export interface ExpectedVersion {
  /** Whose reads count, see {@link requireRead}. */
  sessionId?: string | undefined;
  /** Refuse to change a file that this session has not read, or that changed since. Default: false. */
  requireRead?: boolean | undefined;
  /** Refuse unless the file has this etag. With {@link requireRead} it stands for having read the file where that version was read by anybody. */
  ifMatch?: string | undefined;
  /** Refuse when the file exists. Default: false. */
  createOnly?: boolean | undefined;
  /** Refuse when it does not. Default: false. */
  mustExist?: boolean | undefined;
}

/**
 * @param takesEtag whether the caller can repeat the change with an etag, which the refusal then offers
 * @throws {ToolError} READ_REQUIRED; FILE_CHANGED with the difference; NOT_FOUND or INVALID_ARGUMENT when it is not, or is, there
 */
export async function assertExpected(
  tracker: ReadTracker,
  asked: ScopePath,
  target: WriteTarget,
  current: CurrentFile | undefined,
  expected: ExpectedVersion,
  takesEtag: boolean,
): Promise<void> {
  const shown = quote(asked.shown);
  const version = (etag: string): KnownVersion => ({ etag, bytes: tracker.contentOf(etag) });
  if (!current || !target.stats) {
    if (expected.ifMatch !== undefined)
      throw new ToolError('FILE_CHANGED', `${shown} does not exist any more; leave out if_match to create it.`);
    if (expected.mustExist) throw new ToolError('NOT_FOUND', `${shown} does not exist; create it with write_file.`);
    return;
  }
  if (expected.createOnly)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${shown} exists already, and create_only was asked for. Take another name, or read it and change it.`,
    );
  const { dev, ino } = target.stats;
  const file = { path: target.path.absolute, dev, ino };
  const { sessionId, ifMatch, requireRead } = expected;
  const stale = async (how: string, etag: string, isKnown: boolean): Promise<ToolError> => {
    const offersEtag = takesEtag && (isKnown || !requireRead);
    const error = await staleFile(asked.shown, how, version(etag), current, offersEtag);
    if (isKnown && error.details?.difference === 'whole') tracker.noteGiven(file.path, current.etag);
    return error;
  };
  if (ifMatch !== undefined && ifMatch !== current.etag) {
    const how = `has the etag ${current.etag}, not ${quote(ifMatch)}: it was changed since`;
    throw await stale(how, ifMatch, tracker.hasSeen(sessionId, file, ifMatch));
  }
  if (!requireRead || tracker.hasSeen(sessionId, file, current.etag)) return;
  // An etag stands for having read only where the content was given out with it: stat and refusals give it alone.
  if (ifMatch !== undefined && tracker.wasGiven(file.path, ifMatch)) return;
  const seen = tracker.etagOf(sessionId, file);
  if (seen === undefined)
    throw new ToolError(
      'READ_REQUIRED',
      `${shown} exists and was not read yet. Read it with read_file before changing it.`,
    );
  throw await stale('was changed since it was read', seen, true);
}
