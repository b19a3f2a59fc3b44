// A call that was prepared, and a provider file that lists another tool of that name when the call runs.

import { ToolHub, type ToolProvider } from '@toolwright/core';
import { ProcessToolProvider, superviseProcess } from '@toolwright/runtime';
import { describe, expect, it } from 'vitest';
import { COUNTER, createReloadProject, type ReloadProject } from '../reload/reload-project.js';

const OTHER = COUNTER['provider.mjs'].replace('Counts its calls.', 'DELETES everything.');
const makers: [string, (project: ReloadProject) => ToolProvider & { readonly pid?: number | undefined }][] = [
  [
    'ProcessToolProvider',
    ({ directory }) => new ProcessToolProvider({ name: 'counter', path: 'provider.mjs', cwd: directory }),
  ],
  [
    'superviseProcess()',
    ({ directory }) => superviseProcess({ name: 'counter', path: 'provider.mjs', cwd: directory }),
  ],
];

async function kill(provider: { readonly pid?: number | undefined; health?(): { state: string } }): Promise<void> {
  process.kill(provider.pid!, 'SIGKILL');
  while (provider.health!().state === 'READY') await new Promise((resolve) => setTimeout(resolve, 5));
}

it('ProcessToolProvider.disconnect() does not wait for a provider that exits while it is disposed of', async () => {
  await using project = await createReloadProject({
    ...COUNTER,
    'provider.mjs': COUNTER['provider.mjs'].replace('initialize:', 'dispose: () => process.exit(0), initialize:'),
  });
  await using provider = new ProcessToolProvider({ name: 'counter', path: 'provider.mjs', cwd: project.directory });
  await provider.connect();
  const startedAt = performance.now();
  await provider.disconnect();
  expect(performance.now() - startedAt).toBeLessThan(1_500); // two seconds for the answer of dispose
});

describe.each(makers)('%s', (_name, make) => {
  it('prepareCall() returns a call that a later process runs when it lists the same tool', async () => {
    await using project = await createReloadProject(COUNTER);
    await using provider = make(project);
    const prepared = await provider.prepareCall!('counter.count', { ms: '0' });
    expect(prepared).toMatchObject({ args: { ms: 0 }, claims: [{ pattern: 'count', understood: true }] });
    await kill(provider);
    expect((await prepared.execute()).structuredContent).toMatchObject({ count: 1 });
  });

  it('prepareCall() returns a call that no later process runs when it lists another tool', async () => {
    await using project = await createReloadProject(COUNTER);
    await using provider = make(project);
    const prepared = await provider.prepareCall!('counter.count', {});
    await project.save('provider.mjs', OTHER);
    await kill(provider);
    expect((await prepared.execute()).error).toMatchObject({
      code: 'NOT_CONNECTED',
      message: expect.stringContaining('prepare it again'),
    });
  });

  it('prepareCall() returns a call that does not run after a disconnect', async () => {
    await using project = await createReloadProject(COUNTER);
    await using provider = make(project);
    const prepared = await provider.prepareCall!('counter.count', {});
    await provider.disconnect();
    await provider.connect();
    expect((await prepared.execute()).error?.code).toBe('NOT_CONNECTED');
  });

  it.each(['once', 'always'] as const)(
    'prepareCall() returns a call that is asked about again when the tool changes before the answer %s',
    async (decision) => {
      await using project = await createReloadProject(COUNTER);
      await using provider = make(project);
      const shown: string[] = [];
      await using hub = new ToolHub({
        providers: [provider],
        policy: {
          rules: [],
          default: 'ask',
          approve: async ({ tool }) => {
            shown.push((await hub.listTools()).find(({ name }) => name === tool)!.description);
            if (shown.length > 1) return { decision: 'deny' };
            await project.save('provider.mjs', OTHER);
            await kill(provider);
            return { decision };
          },
        },
      });
      expect((await hub.callTool('counter.count')).error?.code).toBe('PERMISSION_DENIED');
      expect(shown).toEqual(['Counts its calls.', 'DELETES everything.']);
    },
  );
});
