// The beginning and end of a text of any length, within the limits of one answer.

import { cutText, type OutputLimits } from '../../project/output-budget.js';

/** Programs print errors last, so the end gets more room. */
const HEAD_SHARE = 0.25;

/** A text without its middle. */
export interface HeadAndTailParts {
  head: string;
  /** Empty when the head holds the whole text. */
  tail: string;
  /** UTF-8 bytes between the two. */
  omittedBytes: number;
}

/** Keeps the beginning and the end of what is pushed. */
export class HeadAndTail {
  readonly #headLimits: OutputLimits;
  readonly #tailLimits: OutputLimits;
  #head = '';
  #headBytes = 0;
  #headLines = 0;
  #headFull = false;
  #tail: { text: string; bytes: number }[] = [];
  #tailBytes = 0;
  #droppedBytes = 0;

  constructor({ maxBytes, maxLines }: OutputLimits) {
    const headBytes = Math.floor(maxBytes * HEAD_SHARE);
    const headLines = Math.floor(maxLines * HEAD_SHARE);
    this.#headLimits = { maxBytes: headBytes, maxLines: headLines };
    this.#tailLimits = { maxBytes: maxBytes - headBytes, maxLines: maxLines - headLines };
  }

  push(text: string): void {
    if (text === '') return;
    const rest = this.#headFull ? text : this.#fillHead(text);
    if (rest === '') return;
    const bytes = Buffer.byteLength(rest);
    this.#tail.push({ text: rest, bytes });
    this.#tailBytes += bytes;
    for (;;) {
      const [first] = this.#tail;
      if (!first || this.#tailBytes - first.bytes < this.#tailLimits.maxBytes) return;
      this.#tail.shift();
      this.#tailBytes -= first.bytes;
      this.#droppedBytes += first.bytes;
    }
  }

  parts(): HeadAndTailParts {
    const joined = this.#tail.map(({ text }) => text).join('');
    const tail = lastLines(lastBytes(joined, this.#tailLimits.maxBytes), this.#tailLimits.maxLines);
    return {
      head: this.#head,
      tail,
      omittedBytes: this.#droppedBytes + this.#tailBytes - Buffer.byteLength(tail),
    };
  }

  /** Appends what fits to the head, and returns the rest. */
  #fillHead(text: string): string {
    let end = 0;
    for (;;) {
      if (this.#headLines >= this.#headLimits.maxLines) break;
      const newline = text.indexOf('\n', end);
      const next = newline < 0 ? text.length : newline + 1;
      const bytes = Buffer.byteLength(text.slice(end, next));
      if (this.#headBytes + bytes > this.#headLimits.maxBytes) {
        const fits = cutText(text.slice(end, next), this.#headLimits.maxBytes - this.#headBytes).length;
        end += fits;
        break;
      }
      this.#headBytes += bytes;
      end = next;
      if (newline < 0) {
        this.#head += text;
        return '';
      }
      this.#headLines++;
      if (end === text.length) {
        this.#head += text;
        return '';
      }
    }
    this.#headFull = true;
    this.#head += text.slice(0, end);
    return text.slice(end);
  }
}

function lastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - maxBytes;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.toString('utf8', start);
}

/** The last lines of a text. */
export function lastLines(text: string, count: number): string {
  let at = text.endsWith('\n') ? text.length - 1 : text.length;
  for (let lines = 0; lines < count; lines++) {
    at = at <= 0 ? -1 : text.lastIndexOf('\n', at - 1);
    if (at < 0) return text;
  }
  return text.slice(at + 1);
}
