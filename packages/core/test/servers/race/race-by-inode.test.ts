import { afterAll, afterEach, beforeAll, beforeEach, expect, it, type TestContext } from 'vitest';
import { ProjectFiles } from '../../../src/servers/project/project-files.js';
import { tries } from '../../soak.js';
import { CANARY, openArena, type Arena } from './arena.js';
import { compileSwapper, whileSwapping, type Swapper } from './swapper.js';

// What systems without descriptor paths have. It is no promise under a swapper of native speed, and SECURITY.md says so;
// these tests measure what it is.

const PATIENCE = { timeout: 600_000 };

let swapper: Swapper;
let arena: Arena;
let files: ProjectFiles;

beforeAll(async () => {
  swapper = await compileSwapper();
}, 60_000);
afterAll(() => swapper[Symbol.asyncDispose]());
beforeEach(async (context: TestContext) => {
  context.skip(swapper.missing !== undefined, swapper.missing);
  arena = await openArena();
  files = new ProjectFiles({ projectDir: arena.project, fsync: false, verification: 'inode' });
});
afterEach(() => arena?.[Symbol.asyncDispose]());

it('read() by inode reads outside the project in fewer than one of a hundred tries', PATIENCE, async () => {
  const count = tries(100_000);
  let escapes = 0;
  const figures = await whileSwapping(
    swapper,
    arena.names,
    count,
    async () => {
      if ((await files.read('dir/file.txt')).bytes.includes(CANARY)) escapes++;
    },
    { mostlyRefused: true },
  );
  console.log(`race, reading by inode: ${escapes} escapes; ${JSON.stringify(figures)}`);
  expect(escapes).toBeLessThan(count / 100);
  expect(figures.swaps).toBeGreaterThanOrEqual(10_000);
});

it('write() by inode changes something outside in less than one of a hundred tries', PATIENCE, async () => {
  const count = tries(100_000);
  const figures = await whileSwapping(
    swapper,
    arena.names,
    count,
    (index) => files.write(index % 2 ? 'dir/file.txt' : `dir/new-${index}.txt`, Buffer.from('INSIDE')),
    { mostlyRefused: true },
  );
  const names = await arena.escapes();
  const temporary = names.filter((name) => name.endsWith('.tmp')).length;
  console.log(
    `race, writing by inode: ${names.length} names changed outside, ${temporary} temporary; ${JSON.stringify(figures)}`,
  );
  expect(names.length).toBeLessThan(count / 100);
  expect(figures.swaps).toBeGreaterThanOrEqual(10_000);
});
