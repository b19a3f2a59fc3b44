// The tools with the real pyright.

import { describe, expect, it } from 'vitest';
import { expectNoLeaks } from '../../../src/testing/leaks.js';
import { openTools, peer } from './diagnostics-tools.js';

const pyright = await peer('pyright');
const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';
const USE = 'from m import add\n\ntotal: str = add(1, 2)  # 😀\n';

describe.skipIf(pyright === undefined)('diagnostics with pyright', () => {
  it('diagnostics() reports a type error, none when it is fixed, and one in another file', async () => {
    await using _ = expectNoLeaks();
    const servers = [
      {
        name: 'pyright',
        command: process.execPath,
        args: [`${pyright}/langserver.index.js`, '--stdio'],
        extensions: { '.py': 'python' },
      },
    ];
    await using tools = await openTools({ 'm.py': ADD, 'n.py': USE, 'pyproject.toml': '' }, { servers });
    const requested = { path: 'n.py', wait_ms: 60_000 };
    expect((await tools.call('diagnostics', requested)).data).toMatchObject({
      files: [
        {
          path: 'n.py',
          diagnostics: [
            { line: 3, column: 14, end_column: 23, severity: 'error', code: 'reportAssignmentType', source: 'Pyright' },
          ],
        },
      ],
      complete: true,
    });
    await tools.write('n.py', USE.replace('str', 'int'));
    expect((await tools.call('diagnostics', requested)).data).toMatchObject({ files: [], complete: true });
    await tools.write('m.py', ADD.replace('b: int', 'b: str').replace('+ b', '+ len(b)'));
    expect((await tools.call('diagnostics', requested)).data).toMatchObject({
      files: [{ path: 'n.py', diagnostics: [{ line: 3, column: 21, code: 'reportArgumentType' }] }],
      complete: true,
    });
  });
});
