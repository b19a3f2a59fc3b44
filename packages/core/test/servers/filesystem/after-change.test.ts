// The option afterChange: what the answer of a change reports, whatever the function does.

import { expect, it } from 'vitest';
import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import { textOf } from '../../../src/contract/result.js';
import type { AfterChangeHook } from '../../../src/servers/project/change-report.js';
import { createFilesystemServer } from '../../../src/servers/filesystem/index.js';
import { createTestProject } from '../../../src/testing/project.js';

const ERROR = {
  line: 1,
  column: 2,
  end_line: 1,
  end_column: 3,
  severity: 'error',
  code: 'E1',
  source: 'test',
  message: 'It is\u001b[31m wrong.',
} as const;

async function write(afterChange: AfterChangeHook): Promise<{ diagnostics: unknown; text: string; written: string }> {
  await using project = await createTestProject();
  const server = createFilesystemServer({ projectDir: project.projectDir, fsync: false, afterChange });
  await using provider = new InProcessToolProvider({ servers: [server] });
  const result = await provider.callTool('filesystem.write_file', { path: 'a.txt', content: 'new' });
  expect(result.error).toBeUndefined();
  return {
    diagnostics: result.structuredContent?.diagnostics,
    text: textOf(result),
    written: await project.read('a.txt'),
  };
}

it('write_file() reports the result of afterChange, which receives the path, a deadline and a signal', async () => {
  let given: unknown[] = [];
  const { diagnostics, text } = await write((...args) => {
    given = args;
    return Promise.resolve({ diagnostics: [{ ...ERROR, extra: 1 }], complete: true });
  });
  expect(given).toMatchObject([['a.txt'], { deadlineMs: 1_500, signal: expect.any(AbortSignal) }]);
  expect(diagnostics).toEqual({ diagnostics: [ERROR], complete: true });
  expect(text).toContain('New errors after this change: 1 error.\na.txt:1:2 error test E1: It is\\u{1b}[31m wrong.');
});

it.each([
  ['fails', () => Promise.reject(new Error('no'))],
  ['throws', () => { throw new Error('no'); }], // prettier-ignore
  ['never answers', () => new Promise<never>(() => undefined)],
])('write_file() has written, and reports no errors, when afterChange %s', async (_, hook) => {
  const { diagnostics, text, written } = await write(hook);
  expect(diagnostics).toEqual({ diagnostics: [], complete: false });
  expect(text).not.toContain('New errors after this change');
  expect(written).toBe('new');
});

it.each([
  ['no list', { complete: true }],
  ['a row that is none', { diagnostics: [null], complete: true }],
  ['a line that is no number', { diagnostics: [{ ...ERROR, line: 'x' }], complete: true }],
  ['a severity that is none', { diagnostics: [{ ...ERROR, severity: 'fatal' }], complete: true }],
  ['a path that is no text', { diagnostics: [{ ...ERROR, path: 3 }], complete: true }],
  ['nothing of completeness', { diagnostics: [] }],
])('write_file() has written, and reports no errors, when afterChange returns %s', async (_, said) => {
  const { diagnostics, written } = await write(() => Promise.resolve(said as never));
  expect(diagnostics).toEqual({ diagnostics: [], complete: false });
  expect(written).toBe('new');
});

it('write_file() reports no errors when afterChange does not know', async () => {
  expect((await write(() => Promise.resolve(undefined))).diagnostics).toBeUndefined();
});
