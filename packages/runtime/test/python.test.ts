// Providers in Python: their own tests, the contract of ToolProvider, and what a host in TypeScript sees of them on the
// bare wire. Without python3 all of it is skipped.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { textOf } from '@toolwright/core';
import { allowedEnvironment, spawnChild, type Child } from '@toolwright/core/process';
import { contractCases, runContractCase } from '@toolwright/core/testing';
import { ProcessToolProvider } from '@toolwright/runtime';
import { contractProviderFile } from '@toolwright/runtime/testing';
import { describe, expect, it } from 'vitest';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const PYTHON = here('../python/');
const PYTHON_TESTS = here('./python/');
const CONTRACT = contractProviderFile('python');
const CALCULATOR = here('../../../examples/provider-processes/calculator.py');

const soaking = process.env['TOOLWRIGHT_SOAK'] === '1';
const { python, reason } = await findPython();
if (reason !== undefined) console.warn(`skipped: ${reason}`);

describe.skipIf(reason !== undefined)('toolwright_provider', () => {
  it('passes its own tests, with warnings as errors', async () => {
    const { code, output } = await runPython(['-W', 'error', '-m', 'unittest', 'discover', '-s', PYTHON_TESTS]);
    expect(code, output).toBe(0);
    expect(output).toMatch(/Ran \d+ tests[\s\S]*OK/);
  }, 120_000);

  it('can be parsed by Python 3.9', async () => {
    const parse = [
      'import ast, pathlib, sys',
      'modules = sorted(pathlib.Path(sys.argv[1]).glob("*.py"))',
      'assert len(modules) > 10, modules',
      'for module in modules: ast.parse(module.read_text("utf-8"), feature_version=(3, 9))',
    ].join('\n');
    const { code, output } = await runPython(['-c', parse, `${PYTHON}toolwright_provider`]);
    expect(code, output).toBe(0);
  });

  // Each case starts a process: a third of them by default, all of them with TOOLWRIGHT_SOAK=1.
  describe('ProcessToolProvider of a file in Python keeps the ToolProvider contract', () => {
    const runtime = { command: python, args: ['-S', '-u'] }; // whatever the machine adds to its Python is left out
    const env = { ...QUIET, PYTHONPATH: PYTHON };
    for (const contractCase of contractCases.filter((_, index) => soaking || index % 3 === 1)) {
      it(contractCase.title, () =>
        runContractCase(contractCase, () => ({
          provider: new ProcessToolProvider({ name: 'contract', path: CONTRACT, runtime, env }),
          dispose() {},
        })),
      );
    }
  });

  it('exchanges config, variables, state and logs with a host', async () => {
    const received: string[] = [];
    await using provider = new ProcessToolProvider({
      name: 'calculator',
      path: CALCULATOR,
      config: { precision: 2 },
      env: QUIET,
    });
    const result = await provider.callTool(
      'calculator.divide',
      { a: 1, b: 3 },
      { onLog: ({ message }) => received.push(message) },
    );
    expect(result.structuredContent).toEqual({ quotient: 0.33 });
    expect(textOf(await provider.callTool('calculator.history'))).toBe('1 / 3 = 0.33');
    const refused = await provider.callTool('calculator.divide', { a: 1, b: 0 });
    expect(refused.error).toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false });
    expect(received).toEqual(['divided']);
  });

  it('is reported as ended, with the end of its output, when it cannot start', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-python-'));
    try {
      const path = join(directory, 'broken.py');
      await writeFile(path, 'import no_such_module\n');
      await using provider = new ProcessToolProvider({ name: 'broken', path, env: QUIET });
      const { error } = await provider.callTool('broken.anything');
      expect(error?.code).toBe('PROCESS_EXITED');
      expect(error?.message).toContain("No module named 'no_such_module'");
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('speaks the wire: registers, is initialized, answers, is disposed of, exits 0', async () => {
    await using host = await BareHost.start(CONTRACT);
    const { id, method, params } = await host.next();
    expect(method).toBe('provider/register');
    expect(params).toMatchObject({ protocol: 1, token: 'feed', name: 'contract', pid: host.child.pid });
    host.send({ id, result: { protocol: 1, config: {}, variables: {}, previousState: null, limits: {} } });
    const settings = { config: {}, variables: {}, previousState: null, reason: 'start', isReinitialization: false };
    host.send({ id: 'i', method: 'provider/initialize', params: settings });
    expect(await host.next()).toEqual({ jsonrpc: '2.0', id: 'i', result: {} });
    host.send({ id: 1, method: 'tools/call', params: { name: 'wait', arguments: { ms: 60_000 } } });
    host.send({ id: 2, method: 'tools/call', params: { name: 'add', arguments: { a: 1, b: 2 } } });
    expect(await host.next()).toMatchObject({ id: 2, result: { structuredContent: { sum: 3 }, isError: false } });
    host.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
    expect(await host.next()).toMatchObject({
      id: 1,
      result: { isError: true, _meta: { 'toolwright/error': { code: 'CANCELLED' } } },
    });
    host.send({ id: 3, method: 'provider/export_state' });
    expect(await host.next()).toMatchObject({ result: { state: { executions: 0, aborts: 1 }, dropped: [] } });
    host.send({ id: 4, method: 'provider/dispose', params: {} });
    expect(await host.next()).toMatchObject({ id: 4, result: {} });
    host.socket.destroy();
    expect(await host.child.exited).toEqual({ code: 0, signal: null });
  });

  it('exits by itself when the host is gone in the middle of everything', async () => {
    await using host = await BareHost.start(CONTRACT);
    const { id } = await host.next();
    host.send({ id, result: { protocol: 1, config: {}, variables: {}, previousState: null, limits: {} } });
    host.send({ id: 1, method: 'provider/initialize', params: { config: {}, variables: {}, previousState: null } });
    for (let call = 2; call < 200; call++) {
      const params = {
        name: ['wait', 'big', 'echo'][call % 3],
        arguments: [{ ms: 1e6 }, { bytes: 1e6 }, {}][call % 3],
      };
      host.send({ id: call, method: 'tools/call', params });
    }
    await host.next();
    host.socket.destroy();
    expect(await host.child.exited).toEqual({ code: 0, signal: null });
  });
});

/** No file of bytecode is left beside the sources. */
const QUIET = { PYTHONDONTWRITEBYTECODE: '1' };

/** One connection of one provider process, without anything of ours in between. */
class BareHost implements AsyncDisposable {
  readonly child: Child;
  readonly socket: Socket;
  readonly #directory: string;
  readonly #lines: AsyncIterator<string>;

  private constructor(directory: string, child: Child, socket: Socket) {
    this.#directory = directory;
    this.child = child;
    this.socket = socket.on('error', () => undefined); // it may be cut on purpose
    this.#lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  }

  static async start(path: string): Promise<BareHost> {
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-python-'));
    const server = createServer();
    const connected = new Promise<Socket>((resolve) => server.once('connection', resolve));
    await new Promise<void>((resolve) => server.listen(join(directory, 's'), resolve));
    const child = spawnChild({
      command: python,
      args: ['-u', path],
      cwd: directory,
      extraEnv: {
        ...QUIET,
        PYTHONPATH: PYTHON,
        TOOLWRIGHT_SOCKET: join(directory, 's'),
        TOOLWRIGHT_PROVIDER: 'contract',
        TOOLWRIGHT_TOKEN: 'feed',
      },
    });
    child.stdout.resume();
    const socket = await connected;
    server.close();
    return new BareHost(directory, child, socket);
  }

  send(message: object): void {
    this.socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  async next(): Promise<Record<string, unknown>> {
    const { done, value } = await this.#lines.next();
    if (done) throw new Error(`The provider closed the connection: ${this.child.stderrTail()}`);
    return JSON.parse(value) as Record<string, unknown>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.child.end();
    await rm(this.#directory, { recursive: true });
  }
}

async function runPython(args: string[]): Promise<{ code: number | null; output: string }> {
  const env = { ...allowedEnvironment(), ...QUIET, PYTHONPATH: PYTHON };
  await using child = spawnChild({ command: python, args, cwd: PYTHON, env, stderrTailBytes: 256 * 1024 });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const { code } = await child.exited;
  return { code, output: output + child.stderrTail() };
}

/** The program itself, as `python3` may be a script that looks for it at each start. */
async function findPython(): Promise<{ python: string; reason?: string }> {
  const none = { python: 'python3', reason: 'there is no python3 of release 3.9 or later' };
  if (process.platform === 'win32') return { python: 'python', reason: 'these tests use unix sockets' };
  const script = 'import sys, asyncio; print(sys.executable if sys.version_info >= (3, 9) else "")';
  await using child = spawnChild({ command: 'python3', args: ['-c', script], cwd: tmpdir() });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await child.exited.then(({ code }) => code).catch(() => undefined);
  const python = output.trim();
  return code === 0 && python !== '' ? { python } : none;
}
