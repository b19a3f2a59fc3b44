// Hot reload of a provider in Python. Without python3 it is skipped.

import { describe, expect, it } from 'vitest';
import { spawnChild } from '@toolwright/core/process';
import { createReloadProject, next } from './reload-project.js';

const COUNTER = {
  'counter.py': `
from toolwright_provider import Context, run, tool
from parts.middle import VERSION

@tool
def count(ctx: Context) -> dict:
    """Counts its calls."""
    ctx.state["count"] += 1
    return {"count": ctx.state["count"], "version": VERSION}

run("counter", initialize=lambda current, previous, ctx: {"count": (previous or {}).get("count", 0)})
`,
  'parts/__init__.py': '',
  'parts/middle.py': 'from .version import VERSION\n',
  'parts/version.py': 'VERSION = 0\n',
};

async function hasPython(): Promise<boolean> {
  await using child = spawnChild({
    command: 'python3',
    args: ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'],
    cwd: '/',
  });
  child.stdout.resume();
  return await child.exited.then(
    ({ code }) => code === 0,
    () => false,
  );
}

const missing = (await hasPython()) ? undefined : 'there is no python3 of 3.9 or later';
if (missing !== undefined) console.warn(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)('superviseProcess() of a file in Python, with watch', () => {
  it('reloads for a module two imports away, with the state, and loses no call', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise({ path: 'counter.py' });
    expect((await provider.callTool('counter.count')).structuredContent).toEqual({ count: 1, version: 0 });
    let isOver = false;
    let calls = 1;
    const reloaded = next(provider, 'reloaded').then(() => (isOver = true));
    const caller = async (): Promise<void> => {
      while (!isOver) {
        const { error } = await provider.callTool('counter.count');
        expect(error).toBeUndefined();
        calls++;
      }
    };
    const calling = Promise.all([caller(), caller()]);
    await project.save('parts/version.py', 'VERSION = 1\n', 'by rename');
    await Promise.all([reloaded, calling]);
    expect((await provider.callTool('counter.count')).structuredContent).toEqual({ count: calls + 1, version: 1 });
  });

  it('leaves the old version serving when the new one has a syntax error, and reports where', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise({ path: 'counter.py' });
    await provider.callTool('counter.count');
    const failed = next(provider, 'reloadFailed');
    await project.save('parts/version.py', 'ONE = 1\nVERSION = = 1\n');
    expect(await failed).toMatchObject({ file: project.path('parts/version.py'), line: 2 });
    expect((await provider.callTool('counter.count')).structuredContent).toEqual({ count: 2, version: 0 });
  });
});
