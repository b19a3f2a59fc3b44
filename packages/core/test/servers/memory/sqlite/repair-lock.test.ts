import { existsSync } from 'node:fs';
import { mkdir, stat, utimes, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RepairLock } from '../../../../src/servers/memory/sqlite/repair-lock.js';
import { StorePlace } from '../../../../src/servers/memory/sqlite/store-place.js';
import { createTestProject, type TestProject } from '../../../../src/testing/project.js';

describe('RepairLock', () => {
  let project: TestProject;
  let place: StorePlace;
  let path: string;
  beforeEach(async () => {
    project = await createTestProject();
    place = new StorePlace(project.resolve('m'), 'm');
    place.create();
    path = `${place.file}.repair`;
  });
  afterEach(() => project[Symbol.asyncDispose]());

  it('release() removes the lock, and only its own when another process has taken it over', async () => {
    const first = await RepairLock.acquire(place);
    expect(RepairLock.isHeld(place)).toBe(true);
    await utimes(path, 0, 0);
    const second = await RepairLock.acquire(place);
    first.release();
    expect(RepairLock.isHeld(place)).toBe(true);
    second.release();
    expect(existsSync(path)).toBe(false);
    second.release();
  });

  it('renew() keeps the lock from being taken over', async () => {
    const lock = await RepairLock.acquire(place);
    const { mtimeMs } = await stat(path);
    await vi.waitFor(
      async () => {
        lock.renew();
        expect((await stat(path)).mtimeMs).toBeGreaterThan(mtimeMs);
      },
      { timeout: 10_000 },
    );
    lock.release();
    expect(RepairLock.isHeld(place)).toBe(false);
  });

  it('isHeld() returns false for what is not a lock', async () => {
    expect(RepairLock.isHeld(place)).toBe(false);
    await writeFile(path, '');
    expect(RepairLock.isHeld(place)).toBe(false);
    await mkdir(`${project.resolve('n')}/memory.db.repair/more`, { recursive: true });
    expect(RepairLock.isHeld(new StorePlace(project.resolve('n'), 'n'))).toBe(false);
  });
});
