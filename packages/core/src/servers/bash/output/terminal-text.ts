// Converts terminal output to the text that a person would have read: characters joined across chunks, escape sequences
// and control characters removed, progress lines in their last state.

import { StringDecoder } from 'node:string_decoder';

/**
 * CSI, OSC and the other strings (ended by BEL or ST on the same line, so that an open one cannot hide the next lines), and the
 * two-character forms. https://ecma-international.org/publications-and-standards/standards/ecma-48/
 */
const SEQUENCES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-OQ-WYZ\\`-~]/g;
/** The beginning of a sequence at the end of the text. */
const UNFINISHED = /(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c\n]*\x1b?|[ -/]*)|\x9b[0-?]*[ -/]*)$/;
const HAS_CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;
const OTHER_CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/** A longer sequence is shown: it is not one, or it hides text. */
const MAX_SEQUENCE = 4_096;
/** A longer line is not held back until its end, although a carriage return could still overwrite it. */
const MAX_HELD_LINE = 16 * 1024;

/** Decodes one stream and removes escape sequences, chunk by chunk. */
export class StreamText {
  readonly #decoder = new StringDecoder('utf8');
  #unfinished = '';

  push(chunk: Buffer): string {
    return this.#strip(this.#unfinished + this.#decoder.write(chunk), false);
  }

  /** Returns what was held back as unfinished. */
  end(): string {
    return this.#strip(this.#unfinished + this.#decoder.end(), true);
  }

  #strip(text: string, isEnd: boolean): string {
    this.#unfinished = '';
    if (!HAS_CONTROLS.test(text)) return text;
    // Searched before anything is removed: the rest of a line must not become the beginning of a sequence.
    const unfinished = isEnd ? '' : (UNFINISHED.exec(text.slice(-MAX_SEQUENCE))?.[0] ?? '');
    this.#unfinished = unfinished;
    return text
      .slice(0, text.length - unfinished.length)
      .replace(SEQUENCES, '')
      .replace(OTHER_CONTROLS, '');
  }
}

/** Reduces each line to the text after its last carriage return. */
export class CollapsedLines {
  #line = '';

  /** Adds text, and returns the part that can no longer change. */
  push(text: string): string {
    const end = text.lastIndexOf('\n');
    if (end < 0) return this.#hold(this.#line + text);
    const lines = this.#line + text.slice(0, end + 1);
    this.#line = '';
    return (lines.includes('\r') ? lines.replace(/[^\n]*\n/g, collapse) : lines) + this.#hold(text.slice(end + 1));
  }

  /** The unfinished line in its present state. */
  get open(): string {
    return collapse(this.#line);
  }

  end(): string {
    const line = this.#line;
    this.#line = '';
    return collapse(line);
  }

  #hold(line: string): string {
    const held = line.includes('\r') ? collapseOpen(line) : line;
    if (held.length <= MAX_HELD_LINE) {
      this.#line = held;
      return '';
    }
    this.#line = '';
    return held;
  }
}

function collapse(line: string): string {
  const [, body = '', end = ''] = /^(.*?)\r*(\n?)$/s.exec(line) ?? [];
  return body.slice(body.lastIndexOf('\r') + 1) + end;
}

/** For an unfinished line: a carriage return at its end may be the first half of a line end. */
function collapseOpen(line: string): string {
  const body = line.replace(/\r+$/, '');
  return body.slice(body.lastIndexOf('\r') + 1) + (body.length < line.length ? '\r' : '');
}

/** The text of complete output. */
export function terminalText(bytes: Buffer): string {
  const stream = new StreamText();
  const lines = new CollapsedLines();
  return lines.push(stream.push(bytes)) + lines.push(stream.end()) + lines.end();
}

/**
 * How many of the bytes can be shown without cutting a character or an escape sequence that may be unfinished. Never 0 for
 * bytes.
 */
export function showableLength(bytes: Buffer): number {
  let end = bytes.length;
  const tail = bytes.subarray(Math.max(0, end - MAX_SEQUENCE)).toString('latin1');
  const open = UNFINISHED.exec(tail.replace(/[\x80-\x9f]/g, ' '))?.[0];
  if (open !== undefined) end -= open.length;
  else end -= unfinishedCharacter(bytes);
  return end > 0 ? end : bytes.length;
}

function unfinishedCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? back : 0;
  }
  return 0;
}
