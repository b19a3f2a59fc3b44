import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/contract/json.js';
import { InProcessToolProvider } from '../../../../src/provider/in-process-provider.js';
import { ToolHub } from '../../../../src/hub/hub.js';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import { isRunning, openTools, until, type Answer, type Tools } from '../bash-tools.js';

async function start(tools: Tools, command: string, args: JsonObject = {}, sessionId?: string): Promise<string> {
  const { data, text } = await tools.execute(command, { background: true, ...args }, { sessionId });
  expect(data.job_id, text).toBeDefined();
  return data.job_id as string;
}

const output = (tools: Tools, job_id: string, args: JsonObject = {}): Promise<Answer> =>
  tools.call('job_output', { job_id, ...args });

/** Reads until the job has ended and all its output is read. */
async function readAll(tools: Tools, job_id: string): Promise<string> {
  let all = '';
  for (;;) {
    const { text, data } = await output(tools, job_id, { wait_ms: 2_000 });
    all += `${text.replace(/(^|\n)\[(running|exit|\d+ more bytes)[^\n]*\]$/, '')}`;
    if (data.status !== 'running' && /\[(exit code|ended)/.test(text)) return all;
  }
}

describe('execute in the background', () => {
  it('execute returns immediately with a job, whose output job_output reads', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const job = await start(tools, 'echo one; read line; echo "two $line"; exit 4');
    expect(job).toMatch(/^job_[0-9a-f]{12}$/);
    const first = await output(tools, job, { wait_ms: 5_000 });
    expect(first.text).toBe(`one\n[running as job ${job}: job_output returns its output, job_kill ends it]`);
    expect(first.data).toEqual({ status: 'running', cursor: 0, next_cursor: 4, dropped_bytes: 0 });
    expect((await output(tools, job)).data).toMatchObject({ cursor: 4, next_cursor: 4 });
    await tools.call('job_input', { job_id: job, input: 'answer\n', wait_ms: 0 });
    await until(
      async () => (await tools.call('job_list')).data.jobs !== undefined && !isBusy(await tools.call('job_list'), job),
    );
    const last = await output(tools, job);
    expect(last.text).toBe('two answer\n[exit code: 4]');
    expect(last.data).toEqual({ status: 'exited', exit_code: 4, cursor: 4, next_cursor: 15, dropped_bytes: 0 });
    expect((await output(tools, job, { cursor: 0 })).text).toBe('one\ntwo answer\n[exit code: 4]');
  });

  it('execute returns a running job after yield_ms, and the result when the command ends earlier', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const { data, text, isError } = await tools.execute('printf "name: "; sleep 30', { yield_ms: 300 });
    expect(isError).toBe(false);
    expect(data).toMatchObject({ status: 'running', exit_code: null, timed_out: false });
    expect(text).toMatch(/^name: \n\[running as job job_/);
    expect((await output(tools, data.job_id as string)).data).toMatchObject({ cursor: 6, next_cursor: 6 });
    const quick = await tools.execute('echo done', { yield_ms: 20_000 });
    expect(quick.text).toBe('done\n[exit code: 0]');
    expect(quick.data.job_id).toBeUndefined();
  });

  it('execute ends a job only when its timeout_ms has passed', async () => {
    await using tools = await openTools();
    const job = await start(tools, 'echo $$; sleep 60', { timeout_ms: 300 });
    const text = await readAll(tools, job);
    expect((await output(tools, job)).text).toContain('timeout_ms');
    expect(isRunning(Number(text.split('\n')[0]))).toBe(false);
  });

  it('execute fails with BUSY when too many jobs run', async () => {
    await using _ = expectNoLeaks({ graceMs: 10_000 });
    await using tools = await openTools();
    await Promise.all(Array.from({ length: 64 }, () => start(tools, 'sleep 60')));
    expect((await tools.execute('true', { background: true })).code).toBe('BUSY');
    expect((await tools.execute('true')).data.exit_code).toBe(0);
  });
});

function isBusy({ data }: Answer, id: string): boolean {
  return (data.jobs as { job_id: string; status: string }[]).some(
    ({ job_id, status }) => job_id === id && status === 'running',
  );
}

describe('job_output', () => {
  it('job_output returns all output exactly once, however it is paged', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools({}, { output: { maxBytes: 1_024, maxLines: 100 } });
    const job = await start(tools, 'for i in $(seq 3000); do echo "line $i é€"; done');
    const all = [];
    let cursor = 0;
    for (;;) {
      const { data, text } = await output(tools, job, { cursor, wait_ms: 5_000 });
      expect(data.cursor).toBe(cursor);
      cursor = data.next_cursor as number;
      all.push(text.replace(/\n?\[(running|exit|\d+ more bytes)[^\n]*\]/g, ''));
      if (/\[exit code: 0\]$/.test(text)) break;
    }
    // A page may end inside a line. When it ends with a line, its text lacks the line end.
    expect(all.join('').replaceAll('\n', '')).toBe(
      Array.from({ length: 3_000 }, (_unused, i) => `line ${i + 1} é€`).join(''),
    );
  });

  it('job_output waits for output, the end, or wait_ms', async () => {
    await using tools = await openTools();
    const job = await start(tools, 'sleep 0.3; echo late; sleep 0.3; exit 7');
    expect((await output(tools, job, { wait_ms: 20_000 })).text).toContain('late\n[running');
    expect((await output(tools, job, { wait_ms: 20_000 })).text).toBe('[exit code: 7]');
    const idle = await start(tools, 'sleep 60');
    expect((await output(tools, idle, { wait_ms: 50 })).data.status).toBe('running');
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 50);
    const cancelled = await tools.call('job_output', { job_id: idle, wait_ms: 60_000 }, { signal: abort.signal });
    expect(cancelled.code).toBe('CANCELLED');
    expect((await output(tools, idle)).data.status).toBe('running');
  });

  it('job_output returns the last lines when tail_lines is set', async () => {
    await using tools = await openTools();
    const { data } = await tools.execute('seq 100000');
    const { text } = await output(tools, data.job_id as string, { tail_lines: 3 });
    expect(text).toBe('99998\n99999\n100000\n[exit code: 0]');
  });

  it('job_output bounds unread output and reports what was dropped', async () => {
    await using tools = await openTools({}, { maxSpillBytes: 100_000 });
    const job = await start(tools, 'seq 200000');
    const { data } = await output(tools, job, { wait_ms: 10_000 });
    await until(async () => !isBusy(await tools.call('job_list'), job));
    const next = await output(tools, job, { cursor: 100_000 });
    expect(data.dropped_bytes).toBe(0);
    expect(next.data.dropped_bytes).toBeGreaterThan(100_000);
    expect(next.data.cursor).toBe(100_000 + (next.data.dropped_bytes as number));
    expect(next.text).toMatch(/^\[\d+ bytes before this are no longer stored\]/);
  });

  it.each([
    [{ cursor: 1_000_000 }, 'INVALID_ARGUMENT'],
    [{ cursor: -1 }, 'INVALID_ARGUMENT'],
    [{ cursor: 0, tail_lines: 1 }, 'INVALID_ARGUMENT'],
    [{ wait_ms: 300_001 }, 'INVALID_ARGUMENT'],
    [{ job_id: 'job_000000000000' }, 'NOT_FOUND'],
    [{ job_id: '1' }, 'NOT_FOUND'],
  ])('job_output refuses %j', async (args, code) => {
    await using tools = await openTools();
    const job = await start(tools, 'echo x');
    expect((await output(tools, job, args)).code).toBe(code);
  });
});

describe('job_input', () => {
  it('job_input writes to a program until its end of file', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const job = await start(tools, 'cat; echo over');
    expect((await tools.call('job_input', { job_id: job, input: 'a\n', wait_ms: 10_000 })).text).toMatch(
      /^a\n\[running/,
    );
    expect((await tools.call('job_input', { job_id: job, input: 'b\n', wait_ms: 10_000 })).text).toMatch(
      /^b\n\[running/,
    );
    await tools.call('job_input', { job_id: job, input: 'c', eof: true });
    await until(async () => !isBusy(await tools.call('job_list'), job));
    expect((await output(tools, job, { cursor: 4 })).text).toBe('cover\n[exit code: 0]');
    expect((await tools.call('job_input', { job_id: job, input: 'd' })).code).toBe('PROCESS_EXITED');
  });

  it('job_input fails when the job has no stdin to write to', async () => {
    await using tools = await openTools();
    const { data } = await tools.execute('sleep 60', { yield_ms: 10 });
    expect((await tools.call('job_input', { job_id: data.job_id!, input: 'x' })).code).toBe('INVALID_ARGUMENT');
    const deaf = await start(tools, 'exec 0<&-; echo closed; sleep 60');
    await output(tools, deaf, { wait_ms: 10_000 });
    await tools.call('job_input', { job_id: deaf, input: 'x' });
    expect((await tools.call('job_input', { job_id: deaf, input: 'x' })).code).toMatch(
      /PROCESS_EXITED|INVALID_ARGUMENT/,
    );
  });

  it('job_input stops waiting for a program that does not read when it is cancelled', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const job = await start(tools, 'sleep 60');
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 100);
    const { code } = await tools.call(
      'job_input',
      { job_id: job, input: 'x'.repeat(1_000_000) },
      { signal: abort.signal },
    );
    expect(code).toBe('CANCELLED');
  });

  it('job_input is never allowed by a rule alone: a shell runs what it is fed', async () => {
    await using tools = await openTools();
    await using provider = tools.provider;
    await using hub = new ToolHub({
      providers: [provider],
      policy: { default: 'deny', rules: [{ tool: 'bash.*', action: 'allow' }] },
    });
    expect((await hub.callTool('bash.job_input', { job_id: 'job_0', input: 'rm -rf .\n' })).error?.code).toBe(
      'APPROVAL_REQUIRED',
    );
    expect((await hub.callTool('bash.execute', { command: 'true', env: { PATH: '.' } })).error?.code).toBe(
      'APPROVAL_REQUIRED',
    );
    expect((await hub.callTool('bash.job_list')).isError).toBe(false);
  });
});

describe('job_kill', () => {
  it('job_kill ends a job and its processes, with SIGTERM first', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const job = await start(tools, "trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done");
    await output(tools, job, { wait_ms: 10_000 });
    expect((await tools.call('job_kill', { job_id: job })).data).toEqual({ status: 'killed' });
    expect((await output(tools, job)).text).toMatch(/asked\n(.*\n)?\[exit code: 5\]$/); // bash itself may say "Terminated"
    expect((await tools.call('job_kill', { job_id: job })).data).toEqual({ status: 'killed' });
  });

  it('job_kill kills what ignores the signal after grace_ms', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const job = await start(tools, "trap '' TERM INT; echo $$; setsid sleep 60 & while :; do sleep 1; done");
    const pid = Number((await output(tools, job, { wait_ms: 10_000 })).text.split('\n')[0]);
    expect((await tools.call('job_kill', { job_id: job, signal: 'SIGINT', grace_ms: 100 })).data.status).toBe('killed');
    expect(isRunning(pid)).toBe(false);
  });

  it('job_kill only sends SIGUSR1 and SIGUSR2', async () => {
    await using tools = await openTools();
    const job = await start(tools, "trap 'echo told' USR1; echo ready; while :; do read -t 0.05; done");
    await output(tools, job, { wait_ms: 10_000 });
    expect((await tools.call('job_kill', { job_id: job, signal: 'SIGUSR1' })).data.status).toBe('running');
    expect((await output(tools, job, { wait_ms: 10_000 })).text).toContain('told');
    expect((await tools.call('job_kill', { job_id: job, signal: 'SIGSTOP' })).code).toBe('INVALID_ARGUMENT');
  });

  it('job_kill ends what an ended job left running', async () => {
    await using tools = await openTools();
    const job = await start(tools, 'sleep 60 & echo $!');
    const text = await readAll(tools, job);
    const left = Number(text.split('\n')[0]);
    expect(isRunning(left), text).toBe(true);
    expect((await tools.call('job_kill', { job_id: job })).data.status).toBe('exited');
    expect(isRunning(left)).toBe(false);
  });
});

describe('Jobs', () => {
  it('jobs belong to the session that started them', async () => {
    await using tools = await openTools();
    const mine = await start(tools, 'sleep 60', {}, 'a');
    const none = await start(tools, 'sleep 60');
    for (const sessionId of ['b', undefined]) {
      for (const [tool, args] of [
        ['job_output', {}],
        ['job_kill', {}],
        ['job_input', { input: 'x' }],
      ] as const) {
        const { code, text } = await tools.call(tool, { job_id: mine, ...args }, { sessionId });
        expect(code).toBe('NOT_FOUND');
        expect(text).not.toContain('sleep');
      }
    }
    expect((await tools.call('job_output', { job_id: none }, { sessionId: 'a' })).code).toBe('NOT_FOUND');
    const listed = async (sessionId?: string) =>
      ((await tools.call('job_list', {}, { sessionId })).data.jobs as { job_id: string }[]).map(({ job_id }) => job_id);
    expect([await listed('a'), await listed('b'), await listed()]).toEqual([[mine], [], [none]]);
  });

  it('jobs are retained up to a hundred; the oldest are dropped first, with their files', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const ids: string[] = [];
    for (let i = 0; i < 110; i += 10) {
      const batch = await Promise.all(
        Array.from({ length: 10 }, () => tools.execute('head -c 70000 /dev/zero | tr "\\0" x')),
      );
      ids.push(...batch.map(({ data }) => data.job_id as string));
    }
    const { data } = await tools.call('job_list');
    expect((data.jobs as unknown[]).length).toBe(100);
    expect((await output(tools, ids[0]!)).code).toBe('NOT_FOUND');
    expect((await output(tools, ids.at(-1)!)).code).toBeUndefined();
  }, 60_000);

  it('jobs all end when the provider disconnects, and a new connection has none', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const pids: number[] = [];
    for (const command of [
      'echo $$; sleep 60',
      "trap '' TERM; echo $$; while :; do sleep 1; done",
      'setsid sleep 60 & echo $!; wait',
    ]) {
      const job = await start(tools, command);
      pids.push(Number((await output(tools, job, { wait_ms: 10_000 })).text.split('\n')[0]));
    }
    await tools.provider.disconnect();
    for (const pid of pids) expect(isRunning(pid)).toBe(false);
    await tools.provider.connect();
    expect((await tools.call('job_list')).data.jobs).toEqual([]);
  });

  it('forProject() has the bash tools unless they are excluded', async () => {
    await using tools = await openTools();
    await using all = InProcessToolProvider.forProject(tools.projectDir);
    expect(all.servers).toContain('bash');
    expect((await all.listTools()).map(({ name }) => name)).toContain('bash.execute');
    await using without = InProcessToolProvider.forProject(tools.projectDir, { bash: false });
    expect(without.servers).not.toContain('bash');
    expect((await without.listTools()).filter(({ name }) => name.startsWith('bash.'))).toEqual([]);
  });
});
