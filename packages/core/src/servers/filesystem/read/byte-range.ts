// Bytes of an open file, as many as are asked for: one read of the system may give fewer.

import type { FileHandle } from 'node:fs/promises';

/** Fills the buffer from a place in the file. What comes back shares its memory, and is shorter only at the file's end. */
export async function readAt(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, position + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}
