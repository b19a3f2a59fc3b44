import { readdirSync, statSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { runningProcesses } from '../../../../src/process/stray-processes.js';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import type { Progress } from '../../../../src/contract/tool-provider.js';
import { isRunning, openTools, until, type Answer } from '../bash-tools.js';

const SOAK = process.env.TOOLWRIGHT_SOAK === '1';
const spills = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('toolwright-bash-'));
const wasKilled = async (pid: number): Promise<void> => until(() => !isRunning(pid));
/** The numbers that the command printed, one per line. */
const pids = (text: string): number[] => [...text.matchAll(/^pid (\d+)$/gm)].map(([, pid]) => Number(pid));

describe('execute', () => {
  it('execute returns stdout, stderr and then the exit code when the command ends', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const { text, data, isError } = await tools.execute('echo out; echo err >&2; exit 3');
    expect(text).toMatch(/^(out\nerr|err\nout)\n\[exit code: 3\]$/);
    expect(isError).toBe(false);
    expect(data).toMatchObject({
      ...{ exit_code: 3, signal: null, timed_out: false, status: 'exited', sandboxed: false, truncated: false },
      ...{ stdout_bytes: 4, stderr_bytes: 4, leftover: [] },
    });
    expect(data.output_path).toBeUndefined();
    expect(data.job_id).toBeUndefined();
  });

  it('execute names the signal when one ended the shell', async () => {
    await using tools = await openTools();
    const { text, data } = await tools.execute('kill -9 $$');
    expect(data).toMatchObject({ exit_code: null, signal: 'SIGKILL', status: 'killed' });
    expect(text).toBe('[ended by SIGKILL]');
  });

  it('execute lists its tools with all annotations', async () => {
    await using tools = await openTools();
    const listed = await tools.provider.listTools();
    const hints = listed.map(({ name, annotations }) => [name, Object.values(annotations).map(Number).join('')]);
    expect(hints).toEqual([
      ['bash.execute', '0101'],
      ['bash.job_output', '1000'],
      ['bash.job_input', '0101'],
      ['bash.job_kill', '0110'],
      ['bash.job_list', '1010'],
    ]);
  });

  it('execute runs in the requested directory', async () => {
    await using tools = await openTools({ 'src/a.ts': '', link: { link: 'src' } });
    expect((await tools.execute('pwd -P', { cwd: 'src' })).text).toContain(`${tools.projectDir}/src\n`);
    expect((await tools.execute('pwd -P', { cwd: tools.path('link') })).text).toContain(`${tools.projectDir}/src\n`);
  });

  it.each([
    ['..', 'OUTSIDE_PROJECT'],
    ['/', 'OUTSIDE_PROJECT'],
    ['out', 'OUTSIDE_PROJECT'],
    ['dangling', 'OUTSIDE_PROJECT'],
    ['nowhere', 'NOT_FOUND'],
    ['a.ts', 'INVALID_ARGUMENT'],
  ])('execute refuses the working directory %s', async (cwd, code) => {
    await using tools = await openTools({
      'a.ts': '',
      out: { link: '../outside' },
      dangling: { link: '/nowhere-at-all' },
    });
    expect((await tools.execute('touch ran', { cwd })).code).toBe(code);
    await expect(tools.read('ran')).rejects.toThrow();
  });

  it.each([
    [{ command: '' }],
    [{ command: 'x'.repeat(40_000) }],
    [{ command: 'true\0' }],
    [{ command: 'true', timeout_ms: 0 }],
    [{ command: 'true', timeout_ms: 3_600_001 }],
    [{ command: 'true', env: { A: 1 } }],
    [{ command: 'true', comand: 'x' }],
  ])('execute refuses %#', async (args) => {
    await using tools = await openTools();
    expect((await tools.call('execute', args as never)).code).toBe('INVALID_ARGUMENT');
  });

  it('execute passes stdin to the command, or the end of file when none is given', async () => {
    await using tools = await openTools();
    expect((await tools.execute('read x; echo "$?"')).text).toBe('1\n[exit code: 0]');
    expect((await tools.execute('cat', { stdin: 'a line\n' })).text).toBe('a line\n[exit code: 0]');
    expect((await tools.execute('exit 0', { stdin: 'x'.repeat(1_000_000) })).data.exit_code).toBe(0);
  });

  it('execute returns immediately and lists leftover processes when one of them holds the pipe', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const started = performance.now();
    const { text, data } = await tools.execute('sleep 30 & echo hi');
    expect(performance.now() - started).toBeLessThan(3_000);
    const [left] = data.leftover as number[];
    expect(text).toBe(`hi\n[left running: ${left}]\n[exit code: 0]`);
    expect(isRunning(left!)).toBe(true);
    await tools.provider.disconnect();
    expect(isRunning(left!)).toBe(false);
  });

  it('execute reads late output for at most a quarter of a second when the pipe is still held', async () => {
    await using tools = await openTools();
    const { text, data } = await tools.execute(
      'exec 9<> <(sleep 30); (for i in 1 2 3; do echo $i; read -rt 0.02 -u 9; done; sleep 30) & exit 0',
    );
    expect(text).toContain('1\n2\n3\n');
    expect((data.leftover as number[]).length).toBeGreaterThan(0);
    const { data: chatty } = await tools.execute('(while :; do echo x; sleep 0.01; done) & exit 0');
    expect(chatty.stdout_bytes).toBeLessThan(200);
  });

  it('execute lists and ends a process that left the session and holds no pipe', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const { data } = await tools.execute('setsid sleep 30 > /dev/null 2>&1 < /dev/null & sleep 0.1');
    const [left] = data.leftover as number[];
    expect(isRunning(left!)).toBe(true);
    await tools.provider.disconnect();
    expect(isRunning(left!)).toBe(false);
  });

  it.each([
    ["echo pid $$; trap '' TERM; sleep 60"],
    ['echo pid $$; (setsid sh -c "echo pid \\$\\$; exec sleep 60" &) ; sleep 60'],
    ['echo pid $$; setsid sh -c "trap \\"\\" TERM; echo pid \\$\\$; while :; do sleep 1; done" & sleep 60'],
    ['echo pid $$; env -i setsid sh -c "echo pid \\$\\$; exec sleep 60"; true'],
  ])('execute leaves no process at the timeout of %j', async (command) => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const started = performance.now();
    const { code, text, data, isError } = await tools.execute(command, { timeout_ms: 500 });
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(code).toBe('TIMED_OUT');
    expect(isError).toBe(true);
    expect(data).toMatchObject({ timed_out: true, status: 'killed', exit_code: null });
    expect(text).toMatch(/^pid \d+\n[\s\S]*\[TIMED_OUT\] .* 500 ms\. .*timeout_ms/);
    expect(pids(text).length).toBeGreaterThan(0);
    for (const pid of pids(text)) expect(isRunning(pid)).toBe(false);
    expect(runningProcesses()!.filter(({ pid }) => pids(text).includes(pid))).toEqual([]);
  });

  // SECURITY.md documents this for commands without a sandbox.
  it('execute does not find a process that left the session and cleared its environment when its parent has ended', async () => {
    await using tools = await openTools();
    const { text } = await tools.execute(
      '(env -i setsid sh -c "echo pid \\$\\$; exec sleep 60" &); sleep 0.2; sleep 60',
      {
        timeout_ms: 1_000,
      },
    );
    const [survivor] = pids(text);
    try {
      expect(isRunning(survivor!)).toBe(true);
    } finally {
      process.kill(survivor!, 'SIGKILL');
    }
    await wasKilled(survivor!);
  });

  it('execute ends every process when the call is cancelled at any moment', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    await tools.execute('true');
    const calls = Array.from({ length: 20 }, async (_unused, index) => {
      const abort = new AbortController();
      setTimeout(() => abort.abort(), index * 7);
      const { code } = await tools.execute(
        `echo $$ > pid-${index}; setsid sleep 60 & sleep 60`,
        {},
        { signal: abort.signal },
      );
      expect(code).toBe('CANCELLED');
    });
    await Promise.all(calls);
    await until(() => runningProcesses()!.every(({ parent }) => parent !== process.pid));
    await tools.provider.disconnect();
    for (const name of readdirSync(tools.projectDir).filter((each) => each.startsWith('pid-'))) {
      const pid = Number(await tools.read(name));
      if (pid > 0) expect(isRunning(pid)).toBe(false);
    }
  });

  it('execute settles and ends running commands when the provider disconnects', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    let call: Promise<Answer> | undefined;
    const shown = await new Promise<string>((resolve) => {
      const onProgress = ({ message = '' }: Progress): void => resolve(message);
      call = tools.execute("echo pid $$; trap '' TERM; sleep 60", {}, { onProgress });
    });
    const [pid] = pids(shown);
    await tools.provider.disconnect();
    expect((await call)?.code).toBe('CONNECTION_CLOSED');
    expect(isRunning(pid!)).toBe(false);
  });

  it('execute shares nothing between calls, sequential or concurrent', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools({ 'd/.keep': '' });
    await tools.execute('cd d; export A=1; f() { :; }; B=2');
    expect((await tools.execute('echo "$A$B"; pwd -P; type f')).text).toMatch(/^\n.*proj\n.*not found/);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_unused, i) => tools.execute(`A=${i}; sleep 0.0$((RANDOM % 9)); echo "mine $A"`)),
    );
    expect(answers.map(({ text }) => text)).toEqual(answers.map((_answer, i) => `mine ${i}\n[exit code: 0]`));
  });

  it('execute reports progress with the end of the output while the command runs', async () => {
    await using tools = await openTools();
    const seen: Progress[] = [];
    await tools.execute(
      'for i in 1 2 3 4; do printf " $i\\r\\033[1m"; sleep 0.25; done; echo done',
      {},
      {
        onProgress: (progress) => seen.push(progress),
      },
    );
    expect(seen.length).toBeGreaterThanOrEqual(2);
    expect(seen.length).toBeLessThan(10);
    expect(seen[0]!.message).toMatch(/^ \d$/);
    expect(seen.map(({ progress }) => progress)).toEqual(seen.map(({ progress }) => progress).sort((a, b) => a - b));
  });

  it("execute ignores the host's start files, exported functions and BASH_ENV", async () => {
    await using world = await openTools({ 'evil.sh': 'echo evil\n', '.bashrc': 'echo evil\n' });
    process.env.BASH_ENV = world.path('evil.sh');
    process.env['BASH_FUNC_ls%%'] = '() { echo evil; }';
    try {
      expect((await world.execute('ls')).text).not.toContain('evil\n[');
    } finally {
      delete process.env.BASH_ENV;
      delete process.env['BASH_FUNC_ls%%'];
    }
  });
});

describe('execute with much output', () => {
  it('execute keeps head, tail and an exact file when the output is 200 MB', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const megabytes = SOAK ? 200 : 20;
    const before = process.memoryUsage().rss;
    const { text, data } = await tools.execute(
      `echo first; yes 0123456789abcde | head -c ${megabytes * 1_000_000}; echo last`,
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(250e6);
    expect(text.startsWith('first\n0123456789abcde\n')).toBe(true);
    expect(text).toContain(`bytes are left out here; job_output with job_id "${String(data.job_id)}" and cursor 0`);
    expect(text.endsWith('0123456789abcde\nlast\n[exit code: 0]')).toBe(true);
    expect(Buffer.byteLength(text)).toBeLessThan(52 * 1024);
    expect(data).toMatchObject({ truncated: true, stdout_bytes: megabytes * 1_000_000 + 11 });
    const hash = createHash('sha256')
      .update(await readFile(data.output_path as string))
      .digest('hex');
    const line = '0123456789abcde\n';
    const expected = createHash('sha256').update('first\n');
    for (let i = 0; i < megabytes; i++) expected.update(line.repeat(1_000_000 / line.length));
    expect(hash).toBe(expected.update('last\n').digest('hex'));
    expect(statSync(data.output_path as string).mode & 0o777).toBe(0o600);

    const pages = [];
    let cursor = 0;
    for (let page = 0; page < 3; page++) {
      const { text: part, data: at } = await tools.call('job_output', { job_id: data.job_id!, cursor });
      pages.push(part.replace(/\n\[.*\]$/, '\n'));
      expect(at.cursor).toBe(cursor);
      cursor = at.next_cursor as number;
    }
    expect(pages.join('')).toBe(`first\n${line.repeat(cursor)}`.slice(0, cursor));
  }, 60_000);

  it('execute stays within its limits when a command never stops printing', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools({}, { maxSpillBytes: 1_000_000 });
    const before = process.memoryUsage().rss;
    const { code, text, data } = await tools.execute('yes', { timeout_ms: 1_500 });
    expect(code).toBe('TIMED_OUT');
    expect(process.memoryUsage().rss - before).toBeLessThan(250e6);
    expect(statSync(data.output_path as string).size).toBe(1_000_000);
    expect(text).toMatch(/\[\d+ bytes of the output were dropped, as it was too long\]/);
    expect(Buffer.byteLength(text)).toBeLessThan(52 * 1024);
    const { text: tail } = await tools.call('job_output', { job_id: data.job_id!, tail_lines: 3 });
    expect(tail).toMatch(/^(\[\d+ bytes.*\]\n)?y\ny\ny\n\[ended/);
  });

  it('execute reports binary output, and stores all of it', async () => {
    await using tools = await openTools();
    await writeFile(tools.path('b'), Buffer.from([0, 1, 2, 255, 254, 10, 0]));
    const { text, data } = await tools.execute('cat b');
    expect(text).toMatch(/^\[binary output, 7 bytes; /);
    expect(await readFile(data.output_path as string)).toEqual(Buffer.from([0, 1, 2, 255, 254, 10, 0]));
  });

  it('execute joins characters that arrive in pieces, from both streams', async () => {
    await using tools = await openTools();
    const { text } = await tools.execute(
      "printf '\\xe2\\x82'; sleep 0.05; printf '\\xf0\\x9d' >&2; sleep 0.05; printf '\\xac'; sleep 0.05; printf '\\x84\\x9e' >&2",
    );
    expect([...text.split('\n')[0]!].sort()).toEqual(['€', '𝄞']);
  });

  it('execute leaves nothing on disk after the provider has disconnected', async () => {
    await using _ = expectNoLeaks();
    const before = spills();
    const tools = await openTools();
    await Promise.all([1, 2, 3].map(() => tools.execute('head -c 200000 /dev/zero | tr "\\0" x')));
    expect(spills().length).toBe(before.length + 1);
    await tools[Symbol.asyncDispose]();
    expect(spills()).toEqual(before);
  });
});

describe('execute env', () => {
  it("execute does not pass the host's secrets", async () => {
    const canaries = {
      GITHUB_TOKEN: 'canary-1',
      DATABASE_URL: 'canary-2',
      AWS_SECRET_ACCESS_KEY: 'canary-3',
      LC_DATABASE: 'postgres://u:canary-4@h/db',
      LC_API_KEY: 'canary-5',
      SOMETHING: 'canary-6',
      NODE_OPTIONS: '--no-warnings',
      GIT_DIR: '/canary-7',
    };
    Object.assign(process.env, canaries);
    try {
      await using tools = await openTools();
      const { text } = await tools.execute('env');
      expect(text).not.toContain('canary');
      expect(text).not.toContain('NODE_OPTIONS');
      expect(text).toContain(`PATH=${process.env.PATH}`);
      for (const set of ['TERM=dumb', 'CI=1', 'PAGER=cat', 'GIT_TERMINAL_PROMPT=0', 'NO_COLOR=1'])
        expect(text).toContain(set);
    } finally {
      for (const name of Object.keys(canaries)) delete process.env[name];
    }
  });

  it.each([
    ['GITHUB_TOKEN', 'x'],
    ['MY_PASSWORD', 'x'],
    ['DB', 'postgres://u:p@h/db'],
    ['X', 'ghp_0123456789abcdef0123'],
    ['X', '-----BEGIN RSA PRIVATE KEY-----'],
    ['LD_PRELOAD', './evil.so'],
    ['NODE_OPTIONS', '--require ./evil.js'],
    ['BASH_ENV', './evil.sh'],
    ['ENV', './evil.sh'],
    ['GIT_SSH_COMMAND', './evil'],
    ['BASH_FUNC_ls%%', '() { evil; }'],
    ['TOOLWRIGHT_MARK', 'other'],
    ['A B', 'x'],
    ['', 'x'],
    ['X', 'a\0b'],
  ])('execute refuses the variable %s from a caller', async (name, value) => {
    await using tools = await openTools();
    const { code, text } = await tools.execute('touch ran', { env: { [name]: value } });
    expect(code).toBe('INVALID_ARGUMENT');
    expect(text).not.toContain('evil');
    await expect(tools.read('ran')).rejects.toThrow();
  });

  it("execute adds the variables of operator and caller, the caller's last, and a secret that the operator names", async () => {
    await using tools = await openTools({}, { env: { NPM_TOKEN: 'given', A: 'operator', GIT_AUTHOR_NAME: 'Me' } });
    const { text } = await tools.execute('echo "$NPM_TOKEN $A $B $GIT_AUTHOR_NAME $PAGER"', {
      env: { A: 'caller', B: 'b', PAGER: 'less' },
    });
    expect(text).toBe('given caller b Me less\n[exit code: 0]');
  });

  it('createBashServer() refuses an operator variable that runs code, and other wrong options', async () => {
    for (const wrong of [
      { env: { LD_PRELOAD: 'x' } },
      { sandbox: 'none' },
      { network: 'yes' },
      { readable: ['relative'] },
      { output: { maxBytes: 1 } },
      { maxSpillBytes: 1 },
    ]) {
      await expect(openTools({}, wrong as never), JSON.stringify(wrong)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
  });

  it('execute explains what to do when bash is missing', async () => {
    await using tools = await openTools({}, { shell: '/nowhere/bash' });
    const { code, text } = await tools.execute('true');
    expect(code).toBe('UNAVAILABLE');
    expect(text).toContain('option shell');
  });

  it('execute runs in the directory that was checked when its path is swapped', async () => {
    await using tools = await openTools({ 'd/inside.txt': '' });
    await symlink(tools.world.resolve('outside'), tools.path('link'));
    const swapping = tools.execute('for i in $(seq 100); do mv -T d f; mv -T link d; mv -T d link; mv -T f d; done');
    let ran = 0;
    let over = false;
    void swapping.then(() => (over = true));
    while (!over) {
      const { text, code } = await tools.execute('ls', { cwd: 'd' }); // `pwd` resolves names, and would show a later swap
      if (code === undefined) ran++;
      expect(text).not.toContain('secret.txt');
    }
    expect(ran).toBeGreaterThan(0);
  });
});
