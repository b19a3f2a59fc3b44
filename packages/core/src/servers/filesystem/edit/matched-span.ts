// A match in a file: its position, and how its lines are indented.

/** A match in a file. */
export interface MatchedSpan {
  start: number;
  /** After its last byte; in a decoded text, after its last UTF-16 unit. */
  end: number;
  /** With `indent`: how the file's lines differ from the searched ones. */
  shift?: IndentShift;
}

/**
 * How the file's lines are indented compared with the text: the white space that every non-blank line has in addition
 * (`added`) or lacks; or the number of spaces per tab if the file uses tabs.
 */
export type IndentShift = { indent: string; added: boolean } | { spacesOfTab: number };
