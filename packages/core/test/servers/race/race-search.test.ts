import { symlink } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, it, type TestContext } from 'vitest';
import { ToolError } from '../../../src/contract/errors.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { openTools } from '../filesystem/filesystem-tools.js';
import { tries } from '../../soak.js';
import { compileSwapper, expectRealRace, whileSwapping, type Swapper } from './swapper.js';

// A directory below the searched one is swapped for a link while the search walks. ripgrep follows it, as it goes by
// path; nothing that it brings back from there may be answered.

const PATIENCE = { timeout: 600_000 };

let swapper: Swapper;

beforeAll(async () => {
  swapper = await compileSwapper();
}, 60_000);
afterAll(() => swapper[Symbol.asyncDispose]());
beforeEach((context: TestContext) => {
  if (swapper.missing !== undefined) console.log(`race skipped: ${swapper.missing}`);
  context.skip(swapper.missing !== undefined, swapper.missing);
});

/** Outside is a file of the same name, of the same length and with more matches, and one of another name. */
const FILES = { 'dir/sub/file.txt': 'needle INSIDE.\n', 'top.txt': 'needle\n' };
const OUTSIDE = 'needle OUTSIDE\nneedle OUTSIDE\n';

type Question = [tool: string, args: JsonObject];
const CONTENT: Question = ['grep', { pattern: 'needle', context: 1 }];
const NAMES: Question = ['glob', { pattern: '**' }];
const QUESTIONS: [engine: 'rg' | 'js', questions: Question[]][] = [
  [
    'rg',
    [
      CONTENT,
      ['grep', { pattern: 'needle', context: 1, path: 'dir' }],
      ['grep', { pattern: 'needle', mode: 'files' }],
      ['grep', { pattern: 'needle', mode: 'count' }],
      NAMES,
      ['glob', { pattern: '**', sort: 'path', limit: 2 }],
    ],
  ],
  ['js', [CONTENT, NAMES]],
];

it.each(QUESTIONS)(
  'grep and glob by %s return nothing from outside when a directory below is swapped for a link',
  PATIENCE,
  async (search, questions) => {
    await using tools = await openTools(FILES, { search });
    for (const name of ['file.txt', 'only-outside.txt', 'sub/file.txt', 'sub/only-outside.txt'])
      await tools.world.write(`outside/${name}`, OUTSIDE);
    await symlink('../outside', tools.path('swap'));
    await symlink('../../outside', tools.path('dir/swap'));
    const escapes: string[] = [];
    for (const [tool, args] of questions) {
      const names = args.path === 'dir' ? ['dir/sub', 'dir/swap'] : ['dir', 'swap'];
      const [one = '', other = ''] = names.map((name) => tools.path(name));
      const figures = await whileSwapping(swapper, [one, other], tries(500), async () => {
        const { code, text, data } = await tools.call(tool, args);
        const cursor = Buffer.from(typeof data.cursor === 'string' ? data.cursor : '', 'base64url');
        const answer = `${text}${JSON.stringify(data)}${cursor.toString()}`;
        if (/OUTSIDE|only-outside|"count":2/.test(answer)) escapes.push(answer);
        if (code !== undefined) throw new ToolError(code, text);
        // The link was met: nothing was found below, or what was found is left out.
        if (!answer.includes('file.txt')) throw new ToolError('OUTSIDE_PROJECT', text);
      });
      expectRealRace(`${tool} by ${search} ${JSON.stringify(args)}, ${escapes.length} escapes`, figures);
    }
    expect(escapes).toEqual([]);
  },
);
