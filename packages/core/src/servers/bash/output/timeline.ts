// The bytes of one command's output in order of arrival, stdout and stderr together: in memory at first, then in a spill
// file up to a limit, and beyond it the last bytes in memory. Dropped bytes are counted.

import { rm, type FileHandle } from 'node:fs/promises';
import type { SpillDirectory } from './spill-directory.js';

/** No file is created for less. */
const MEMORY_BYTES = 64 * 1024;
/** How much may wait for the disk before the command is paused. */
const MAX_QUEUED_BYTES = 1024 * 1024;
/** How much of the end is stored beyond the limit of the file. */
const TAIL_BYTES = 256 * 1024;

/** The result of {@link Timeline.read}. */
export interface TimelinePart {
  bytes: Buffer;
  /** Where the bytes begin: later than requested when those bytes were dropped. */
  start: number;
}

/** Stores output in bounded memory. Positions count all bytes that arrived. */
export class Timeline {
  /** All bytes that arrived. */
  total = 0;
  readonly #directory: SpillDirectory;
  readonly #name: string;
  readonly #maxFileBytes: number;
  /** Bytes not in the file: all of them while there is no file, then those that wait to be written. */
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #file: { path: string; handle: FileHandle } | undefined;
  #writtenBytes = 0;
  #writing: Promise<void> | undefined;
  /** True once the file or the disk is full. */
  #fileClosed = false;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #removed = false;

  constructor(directory: SpillDirectory, name: string, maxFileBytes: number) {
    this.#directory = directory;
    this.#name = name;
    this.#maxFileBytes = maxFileBytes;
  }

  /** The file with the output from its beginning; undefined while the output is in memory. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  /** Bytes that are no longer stored: those between the end of the file and the tail. */
  get droppedBytes(): number {
    return this.#fileClosed ? this.total - this.#storedBytes - this.#tailBytes : 0;
  }

  /** True when the disk is behind: stop reading the command's output until {@link drained}. */
  get isBehind(): boolean {
    return this.#queuedBytes > MAX_QUEUED_BYTES;
  }

  /** Adds output. */
  push(chunk: Buffer): void {
    this.total += chunk.length;
    if (this.#fileClosed) return this.#pushTail(chunk);
    const room = this.#maxFileBytes - this.#storedBytes;
    const fitting = chunk.length <= room ? chunk : chunk.subarray(0, room);
    this.#queue.push(fitting);
    this.#queuedBytes += fitting.length;
    if (fitting.length < chunk.length) {
      this.#fileClosed = true;
      this.#pushTail(chunk.subarray(fitting.length));
    }
    if (this.#file || this.#queuedBytes > MEMORY_BYTES) this.#write();
  }

  /** Resolves when no byte waits for the disk. */
  async drained(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  /** Writes all output to the file, even when it fits in memory. */
  async spill(): Promise<void> {
    if (!this.#removed && this.#queuedBytes > 0) this.#write();
    await this.drained();
  }

  /** Reads at most `maxBytes` from a position on. */
  async read(from: number, maxBytes: number): Promise<TimelinePart> {
    await this.drained();
    const start = this.#storedPosition(Math.min(Math.max(from, 0), this.total));
    if (start >= this.#storedBytes) {
      const skip = start - (this.total - this.#tailBytes);
      return { bytes: Buffer.concat(this.#tail).subarray(skip, skip + maxBytes), start };
    }
    const length = Math.min(maxBytes, this.#storedBytes - start);
    if (!this.#file) return { bytes: Buffer.concat(this.#queue).subarray(start, start + length), start };
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.#file.handle.read(bytes, 0, length, start);
    return { bytes: bytes.subarray(0, bytesRead), start };
  }

  /** Closes and removes the file, whose bytes cannot be read afterwards. Never rejects. */
  async remove(): Promise<void> {
    this.#removed = true;
    this.#fileClosed = true;
    await this.drained();
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close().catch(() => {}); // not read any more
    if (file) await rm(file.path, { force: true }).catch(() => {}); // removed with its directory
  }

  get #storedBytes(): number {
    return this.#writtenBytes + this.#queuedBytes;
  }

  #storedPosition(position: number): number {
    if (position < this.#storedBytes) return position;
    return Math.max(position, this.total - this.#tailBytes);
  }

  #pushTail(chunk: Buffer): void {
    this.#tail.push(chunk);
    this.#tailBytes += chunk.length;
    for (;;) {
      const [first] = this.#tail;
      if (!first || this.#tailBytes - first.length < TAIL_BYTES) return;
      this.#tail.shift();
      this.#tailBytes -= first.length;
    }
  }

  #write(): void {
    this.#writing ??= this.#writeQueue().finally(() => (this.#writing = undefined));
  }

  async #writeQueue(): Promise<void> {
    try {
      this.#file ??= await this.#directory.create(this.#name);
      while (this.#queue.length > 0) {
        const batch = this.#queue.splice(0);
        try {
          await this.#writeAll(this.#file.handle, batch);
        } catch (error) {
          this.#queue = batch.concat(this.#queue); // counted as dropped below
          throw error;
        }
      }
    } catch {
      // The disk is full or failed: bytes that it does not have are dropped, except for the tail.
      this.#fileClosed = true;
      const lost = this.#queue.splice(0);
      this.#queuedBytes = 0;
      for (const chunk of lost) this.#pushTail(chunk);
    }
  }

  async #writeAll(handle: FileHandle, batch: readonly Buffer[]): Promise<void> {
    const bytes = batch.length === 1 ? batch[0]! : Buffer.concat(batch);
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, this.#writtenBytes);
      at += bytesWritten;
      this.#writtenBytes += bytesWritten;
      this.#queuedBytes -= bytesWritten;
    }
  }
}
