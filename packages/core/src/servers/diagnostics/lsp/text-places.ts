// Converts between positions from 1, the protocol's positions from 0, and offsets.

import type { Position, TextEdit } from 'vscode-languageserver-protocol';
import { ToolError } from '../../../contract/errors.js';

/** A text split into lines by the protocol's rules: \n, \r\n or \r. */
export class TextPlaces {
  readonly #text: string;
  /** The offset of each line. */
  readonly #starts: readonly number[];

  constructor(text: string) {
    this.#text = text;
    const starts = [0];
    for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) starts.push(index + end.length);
    this.#starts = starts;
  }

  /** A line, from 1, without its line break; undefined beyond the last. */
  line(line: number): string | undefined {
    const start = this.#starts[line - 1];
    if (start === undefined) return undefined;
    return this.#text.slice(start, this.#starts[line]).replace(/[\r\n]+$/, '');
  }

  /**
   * The protocol's position of a place that a caller named.
   *
   * @throws {ToolError} INVALID_ARGUMENT for a line or column that does not exist
   */
  position(line: number, column: number): Position {
    const text = this.line(line);
    if (text === undefined)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `Line ${line} does not exist; the file has ${this.#starts.length} lines.`,
      );
    if (column > text.length + 1)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `Column ${column} does not exist; line ${line} has ${text.length} UTF-16 units: ${JSON.stringify(text.slice(0, 200))}`,
      );
    return { line: line - 1, character: column - 1 };
  }

  /**
   * The text after the edits. Each position refers to the text before all edits.
   *
   * @throws {ToolError} PROTOCOL_VIOLATION for edits that overlap, or lie outside
   */
  edited(edits: readonly TextEdit[]): string {
    const places = edits
      .map(({ range, newText }) => ({ start: this.#offset(range.start), end: this.#offset(range.end), newText }))
      .sort((a, b) => a.start - b.start || a.end - b.end);
    const parts: string[] = [];
    let at = 0;
    for (const { start, end, newText } of places) {
      if (start < at || end < start)
        throw new ToolError('PROTOCOL_VIOLATION', 'The server returned overlapping edits; nothing was changed.');
      parts.push(this.#text.slice(at, start), newText);
      at = end;
    }
    return parts.join('') + this.#text.slice(at);
  }

  #offset({ line, character }: Position): number {
    const start = this.#starts[line];
    if (start === undefined || character > (this.line(line + 1)?.length ?? -1))
      throw new ToolError('PROTOCOL_VIOLATION', 'The server returned an edit outside the text; nothing was changed.');
    return start + character;
  }
}
