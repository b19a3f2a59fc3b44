// RecordingWriter: lines in order, and none lost while a write is slow.

import { describe, expect, it } from 'vitest';
import { RecordingWriter } from '../../src/recording/recording-writer.js';

describe('RecordingWriter.append()', () => {
  it('writes all lines in order, whatever the time that writes take', async () => {
    const written: string[] = [];
    const writer = new RecordingWriter({
      target: async (lines) => {
        await new Promise((resolve) => setImmediate(resolve));
        written.push(lines);
      },
      header: () => ({ type: 'recording', v: 1, name: 'n', kind: 'hub', servers: [], at: '' }),
      maxPendingCharacters: 1e6,
      logger: console,
    });
    for (let id = 1; id <= 50; id++) {
      writer.append({ type: 'call', id, name: 'a', args: {} });
      if (id % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await writer.flush();
    const ids = written.join('').trimEnd().split('\n').slice(1);
    expect(ids.map((line) => (JSON.parse(line) as { id: number }).id)).toEqual(
      Array.from({ length: 50 }, (_, at) => at + 1),
    );
    expect(written.every((lines) => lines.endsWith('\n'))).toBe(true);
  });
});
