// The last bytes of a stream, for error messages, in bounded memory.

import { StringDecoder } from 'node:string_decoder';

/** Stores the last `maxBytes` that were pushed. */
export class StreamTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isTruncated = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds what was read. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Joined only at twice the limit, so that many small chunks are copied about once.
    if (this.#bytes > 2 * this.#maxBytes) this.#trim();
  }

  /** The tail as text, cut at character boundaries. */
  text(): string {
    if (this.#bytes > this.#maxBytes || this.#chunks.length > 1) this.#trim();
    const bytes = this.#chunks[0] ?? Buffer.alloc(0);
    let start = 0;
    if (this.#isTruncated) while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
    return new StringDecoder('utf8').write(bytes.subarray(start));
  }

  #trim(): void {
    const all = Buffer.concat(this.#chunks);
    this.#isTruncated ||= all.length > this.#maxBytes;
    const tail = this.#isTruncated ? Buffer.from(all.subarray(Math.max(0, all.length - this.#maxBytes))) : all;
    this.#chunks = [tail];
    this.#bytes = tail.length;
  }
}
