// The bytes of one command's output as they came, stdout and stderr together: the first in memory, all up to a limit in
// a spill file, and after that the last of them. What was dropped is counted.

import { rm, type FileHandle } from 'node:fs/promises';
import type { SpillDirectory } from './spill-directory.js';

/** Up to so much, no file is made. */
const MEMORY_BYTES = 64 * 1024;
/** What waits for the disk before the command has to. */
const MAX_QUEUED_BYTES = 1024 * 1024;
/** Of what is over the limit of the file, so much of the end is kept. */
const TAIL_BYTES = 256 * 1024;

/** What {@link Timeline.read} gives. */
export interface TimelinePart {
  bytes: Buffer;
  /** Where the bytes begin: later than asked for when what was asked for is dropped. */
  start: number;
}

/** Holds output in bounded memory. Positions count all bytes that came. */
export class Timeline {
  /** All that came. */
  total = 0;
  readonly #directory: SpillDirectory;
  readonly #name: string;
  readonly #maxFileBytes: number;
  /** What is not in the file (yet): the beginning, while there is none; else what waits to be written. */
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #file: { path: string; handle: FileHandle } | undefined;
  #writtenBytes = 0;
  #writing: Promise<void> | undefined;
  /** No byte goes to the file any more: it is full, or the disk is. */
  #fileClosed = false;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #removed = false;

  constructor(directory: SpillDirectory, name: string, maxFileBytes: number) {
    this.#directory = directory;
    this.#name = name;
    this.#maxFileBytes = maxFileBytes;
  }

  /** The file that holds the output from its beginning; undefined while memory does. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  /** Bytes that came and are nowhere any more: between the end of the file and the beginning of the tail. */
  get droppedBytes(): number {
    return this.#fileClosed ? this.total - this.#keptFromStart - this.#tailBytes : 0;
  }

  /** True when the disk is behind: stop reading the command's output until {@link drained}. */
  get isBehind(): boolean {
    return this.#queuedBytes > MAX_QUEUED_BYTES;
  }

  /** Takes output. */
  push(chunk: Buffer): void {
    this.total += chunk.length;
    if (this.#fileClosed) return this.#keepTail(chunk);
    const room = this.#maxFileBytes - this.#keptFromStart;
    const kept = chunk.length <= room ? chunk : chunk.subarray(0, room);
    this.#queue.push(kept);
    this.#queuedBytes += kept.length;
    if (kept.length < chunk.length) {
      this.#fileClosed = true;
      this.#keepTail(chunk.subarray(kept.length));
    }
    if (this.#file || this.#queuedBytes > MEMORY_BYTES) this.#write();
  }

  /** Resolves when nothing waits for the disk. */
  async drained(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  /** Puts what there is into the file, also when memory could hold it. */
  async spill(): Promise<void> {
    if (!this.#removed && this.#queuedBytes > 0) this.#write();
    await this.drained();
  }

  /** At most `maxBytes` from a position on. */
  async read(from: number, maxBytes: number): Promise<TimelinePart> {
    await this.drained();
    const start = this.#available(Math.min(Math.max(from, 0), this.total));
    if (start >= this.#keptFromStart) {
      const skip = start - (this.total - this.#tailBytes);
      return { bytes: Buffer.concat(this.#tail).subarray(skip, skip + maxBytes), start };
    }
    const length = Math.min(maxBytes, this.#keptFromStart - start);
    if (!this.#file) return { bytes: Buffer.concat(this.#queue).subarray(start, start + length), start };
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.#file.handle.read(bytes, 0, length, start);
    return { bytes: bytes.subarray(0, bytesRead), start };
  }

  /** Lets go of the file's descriptor and the file. What was asked for afterwards is gone. Never rejects. */
  async remove(): Promise<void> {
    this.#removed = true;
    this.#fileClosed = true;
    await this.drained();
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close().catch(() => {}); // the disk failed, or it is closed: it is not read any more
    if (file) await rm(file.path, { force: true }).catch(() => {}); // it goes with its directory
  }

  get #keptFromStart(): number {
    return this.#writtenBytes + this.#queuedBytes;
  }

  #available(position: number): number {
    if (position < this.#keptFromStart) return position;
    return Math.max(position, this.total - this.#tailBytes);
  }

  #keepTail(chunk: Buffer): void {
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
      // The disk is full or gone: what it has is kept, what it has not is dropped, and said to be.
      this.#fileClosed = true;
      const lost = this.#queue.splice(0);
      this.#queuedBytes = 0;
      for (const chunk of lost) this.#keepTail(chunk);
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
