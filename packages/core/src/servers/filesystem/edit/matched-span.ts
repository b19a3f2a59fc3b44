// A text found in a file: where it is, and how its lines are indented there.

/** One place in a file. */
export interface MatchedSpan {
  start: number;
  /** Behind its last byte; in a decoded text, its last UTF-16 unit. */
  end: number;
  /** With `indent`: how the file's lines differ from those that were looked for. */
  shift?: IndentShift;
}

/**
 * How the file's lines are indented: what every line that is not blank has in front of it there (`added`), or lacks; or,
 * where the file has tabs for the spaces of the text, how many spaces are a tab.
 */
export type IndentShift = { indent: string; added: boolean } | { spacesOfTab: number };
