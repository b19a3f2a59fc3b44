import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hostIdentity } from '../../../../src/process/index.js';
import { stateDirectory } from '../../../../src/process/journal.js';
import { createPlaceholder, isPlaceholder } from '../../../../src/servers/bash/sandbox/placeholders.js';
import { startOf } from '../../../../src/process/stray-processes.js';
import { createTestProject } from '../../../../src/testing/project.js';
import { ENDED, recordPlaceholder } from './placeholder-records.js';

const self = hostIdentity();

describe.skipIf(self === undefined)('createPlaceholder()', () => {
  it('creates a placeholder once for all commands, and removes it and its record after the last', async () => {
    await using project = await createTestProject({});
    const path = project.resolve('.vscode');
    const [first, second] = await Promise.all([
      createPlaceholder(path, 'directory'),
      createPlaceholder(path, 'directory'),
    ]);
    expect(await isPlaceholder(path)).toBe(true);
    expect(await recordsOf(path)).toHaveLength(1);
    await first?.remove();
    expect(await readdir(project.projectDir)).toEqual(['.vscode']);
    await Promise.all([second?.remove(), second?.remove()]);
    expect(await readdir(project.projectDir)).toEqual([]);
    expect(await recordsOf(path)).toEqual([]);
  });

  it('leaves what was written into its place when it is removed', async () => {
    await using project = await createTestProject({});
    const placeholder = await createPlaceholder(project.resolve('.idea'), 'directory');
    await writeFile(project.resolve('.idea/workspace.xml'), 'text');
    await placeholder?.remove();
    expect(await readdir(project.resolve('.idea'))).toEqual(['workspace.xml']);
  });

  it.each([
    ['takes over the one of a host that has ended', ENDED, true],
    ['takes over the one of a host of another boot', { pid: 1, start: 1, place: 'another-boot pid:[1]' }, true],
    ['shares the one of a host that runs', { pid: 1, start: startOf(1) }, false],
    [
      'shares the one of a host in another container, which may run',
      { ...ENDED, place: `${self?.place.split(' ')[0]} pid:[1]` },
      false,
    ],
  ])('%s', async (_what, owner, isTaken) => {
    await using project = await createTestProject({});
    const path = project.resolve('.envrc');
    await mkdir(path);
    await chmod(path, 0o1700);
    await recordPlaceholder(path, owner);
    expect(await isPlaceholder(path)).toBe(true);
    await (await createPlaceholder(path, 'directory'))?.remove();
    expect(await readdir(project.projectDir)).toEqual(isTaken ? [] : ['.envrc']);
  });
});

/** The files that record an owner of the placeholder at a path. */
async function recordsOf(path: string): Promise<string[]> {
  const directory = stateDirectory('placeholders') as string;
  const names = (await readdir(directory)).filter((name) => !name.endsWith('.tmp'));
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8').catch(() => '')));
  return names.filter((_name, index) => texts[index]?.includes(JSON.stringify(path)));
}
