// Where the races run: a project in which `dir` changes places with `swap`, a link to a directory outside that looks
// the same, and what tells whether anything came out or got in.

import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestProject, type TestProject } from '../../../src/testing/project.js';

/** What is outside; it is found nowhere else. */
export const CANARY = 'OUTSIDE';

export interface Arena extends AsyncDisposable {
  world: TestProject;
  project: string;
  path(name: string): string;
  /** The two names that change places. */
  names: readonly [string, string];
  /** Makes files of these names in `dir` and outside. */
  fill(names: readonly string[]): Promise<void>;
  /** What was changed outside, and the files inside that hold what is outside. */
  escapes(): Promise<string[]>;
}

export async function openArena(): Promise<Arena> {
  const world = await createTestProject({
    'outside/file.txt': CANARY,
    'outside/only-outside.txt': CANARY,
    'outside/dir/file.txt': CANARY,
    'proj/dir/file.txt': 'INSIDE',
    'proj/dir/dir/file.txt': 'INSIDE',
  });
  const project = world.resolve('proj');
  const outside = world.resolve('outside');
  await mkdir(join(project, 'safe'));
  await symlink(outside, join(project, 'swap'));
  let before = await contentsOf(outside);
  return {
    world,
    project,
    path: (name) => join(project, name),
    names: [join(project, 'dir'), join(project, 'swap')],
    async fill(names) {
      for (const name of names) {
        await writeFile(join(project, 'dir', name), 'INSIDE');
        await writeFile(join(outside, name), CANARY);
      }
      before = await contentsOf(outside);
    },
    async escapes() {
      const after = await contentsOf(outside);
      const names = new Set([...before.keys(), ...after.keys()]);
      const changed = [...names].filter((name) => before.get(name) !== after.get(name));
      const inside = [...(await contentsOf(project))].filter(([, content]) => content?.includes(CANARY));
      return [...changed, ...inside.map(([name]) => name)];
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

async function contentsOf(directory: string): Promise<Map<string, string | undefined>> {
  const contents = new Map<string, string | undefined>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    contents.set(path, entry.isFile() ? await readFile(path, 'utf8') : undefined);
  }
  return contents;
}
