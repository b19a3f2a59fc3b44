import { describe, expect, it } from 'vitest';
import { ReadTracker, type FileIdentity } from '../../../../src/servers/project/write/read-tracker.js';

const file = (number: number): FileIdentity => ({ path: `/p/${number}`, dev: 1n, ino: BigInt(number) });

describe('ReadTracker', () => {
  it('contentOf() returns what was noted, without later changes by the caller', () => {
    const tracker = new ReadTracker();
    const bytes = Buffer.from('one');
    tracker.note('s', file(1), 'etag', bytes);
    bytes.fill(0);
    expect(tracker.contentOf('etag')?.toString()).toBe('one');
    expect(tracker.contentOf('other')).toBeUndefined();
  });

  it('contentOf() returns undefined for a file that was too large, whose etag is still known', () => {
    const tracker = new ReadTracker({ maxFileBytes: 3 });
    tracker.note('s', file(1), 'large', Buffer.from('four'));
    tracker.note('s', file(2), 'small', Buffer.from('abc'));
    expect(tracker.etagOf('s', file(1))).toBe('large');
    expect(tracker.contentOf('large')).toBeUndefined();
    expect(tracker.contentOf('small')).toBeDefined();
  });

  it('note() drops the content that was used longest ago when there is too much', () => {
    const tracker = new ReadTracker({ maxContentBytes: 10 });
    for (const [index, etag] of ['a', 'b', 'c'].entries()) tracker.note('s', file(index), etag, Buffer.from('1234'));
    expect(['a', 'b', 'c'].map((etag) => tracker.contentOf(etag) !== undefined)).toEqual([false, true, true]);
    tracker.contentOf('b');
    tracker.note('s', file(4), 'd', Buffer.from('1234'));
    expect(['b', 'c', 'd'].map((etag) => tracker.contentOf(etag) !== undefined)).toEqual([true, false, true]);
    expect(tracker.etagOf('s', file(0))).toBe('a');
  });

  it('note() keeps one content once, whoever has seen it', () => {
    const tracker = new ReadTracker({ maxContentBytes: 10 });
    for (let session = 0; session < 10; session++)
      tracker.note(`${session}`, file(session), 'same', Buffer.from('12345678'));
    tracker.note('s', file(11), 'x', Buffer.from('12'));
    expect(tracker.contentOf('same')).toBeDefined();
  });
});
