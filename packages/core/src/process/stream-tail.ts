// The last bytes of a stream, for error messages: bounded whatever the program prints.

import { StringDecoder } from 'node:string_decoder';

/** Keeps the last `maxBytes` that were pushed. */
export class StreamTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #cut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds what was read. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Joined only when twice the limit is held, so that a flood of small chunks costs one copy a limit's worth.
    if (this.#bytes > 2 * this.#maxBytes) this.#trim();
  }

  /** The tail as text, begun and ended on a character boundary. */
  text(): string {
    if (this.#bytes > this.#maxBytes || this.#chunks.length > 1) this.#trim();
    const bytes = this.#chunks[0] ?? Buffer.alloc(0);
    let start = 0;
    if (this.#cut) while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
    return new StringDecoder('utf8').write(bytes.subarray(start));
  }

  #trim(): void {
    const all = Buffer.concat(this.#chunks);
    this.#cut ||= all.length > this.#maxBytes;
    const kept = this.#cut ? Buffer.from(all.subarray(Math.max(0, all.length - this.#maxBytes))) : all;
    this.#chunks = [kept];
    this.#bytes = kept.length;
  }
}
