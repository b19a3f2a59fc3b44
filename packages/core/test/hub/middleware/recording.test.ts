// withRecording(): which calls are recorded, with which results, and that the recording can be replayed.

import { describe, expect, it } from 'vitest';
import {
  InProcessToolProvider,
  ToolHub,
  withCache,
  withRecording,
  withRetry,
  type HubOptions,
  type JsonObject,
  type Progress,
  type RecordingOptions,
  type ToolProvider,
  type ToolResult,
} from '../../../src/index.js';
import { chaos, contractServer, createTestProject, ReplayToolProvider } from '../../../src/testing/index.js';

type Line = JsonObject & { type: string };
const inProcess = (): ToolProvider => new InProcessToolProvider({ servers: [contractServer()] });
const withoutTime = ({ durationMs: _measured, ...result }: ToolResult): Omit<ToolResult, 'durationMs'> => result;

/** A hub whose recording is collected. */
function recordingHub(options: HubOptions = {}, more: Partial<RecordingOptions> = {}) {
  let text = '';
  const recording = withRecording({ write: (lines) => (text += lines), ...more });
  const hub = new ToolHub({
    providers: [inProcess()],
    ...options,
    middleware: [recording, ...(options.middleware ?? [])],
  });
  const lines = async (): Promise<Line[]> => {
    await recording.flush();
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  };
  return { hub, recording, lines };
}

const calledIn = (lines: readonly Line[]) => lines.filter(({ type }) => type === 'call').map(({ name }) => name);

describe('withRecording()', () => {
  it('writes a recording that replays calls, progress, results and the list of tools', async () => {
    await using project = await createTestProject();
    const file = project.resolve('calls.ndjson');
    const recording = withRecording({ file, name: 'session' });
    await using hub = new ToolHub({ providers: [inProcess()], middleware: [recording] });
    const run = async (provider: ToolProvider): Promise<unknown> => {
      const seen: Progress[] = [];
      const tools = await provider.listTools();
      if (provider === hub) recording.recordTools(tools);
      const results = await Promise.all([
        provider.callTool('contract.wait', { ms: 0 }, { onProgress: (progress) => seen.push(progress) }),
        provider.callTool('contract.count'),
        provider.callTool('contract.count'),
        provider.callTool('contract.directive'),
        provider.callTool('contract.fail', { kind: 'error' }),
        provider.callTool('contract.bad_output'),
      ]);
      return [results.map(withoutTime), seen, tools];
    };
    const live = await run(hub);
    await recording.flush();
    const replay = new ReplayToolProvider(file);
    expect(replay.name).toBe('session');
    expect(await run(replay)).toEqual(live);
    expect(replay.unused).toEqual([]);
    await using behind = new ToolHub({ providers: [new ReplayToolProvider(file)] });
    expect(await run(behind)).toEqual(live);
  });

  it('lists the tools that were called when no list was recorded', async () => {
    await using project = await createTestProject();
    const file = project.resolve('calls.ndjson');
    const recording = withRecording({ file });
    await using hub = new ToolHub({ providers: [inProcess()], middleware: [recording] });
    for (const text of ['a', 'b']) await hub.callTool('contract.echo', { text });
    await hub.callTool('contract.add', { a: 1, b: 2 });
    await recording.flush();
    const replay = new ReplayToolProvider(file);
    expect(replay.servers).toEqual(['contract']);
    expect((await replay.listTools()).map(({ name }) => name)).toEqual(['contract.echo', 'contract.add']);
  });

  it('records only calls that the policy allows, and only selected tools', async () => {
    const { hub, lines } = recordingHub(
      { policy: { default: 'allow', rules: [{ tool: 'contract.add', action: 'deny' }] } },
      { exclude: ['contract.count'] },
    );
    await hub.callTool('contract.add', { a: 1, b: 2 });
    await hub.callTool('contract.echo', { txt: 'wrong' });
    await hub.callTool('contract.count');
    await hub.callTool('contract.echo', { text: 'x' });
    expect(calledIn(await lines())).toEqual(['contract.echo']);
    await hub.disconnect();
  });

  it('redacts secrets', async () => {
    const { hub, lines } = recordingHub();
    const text = 'postgres://me:swordfish@host and sk-live_0123456789abcdefghij';
    await hub.callTool('contract.echo', { text });
    const written = JSON.stringify(await lines());
    expect(written).not.toMatch(/swordfish|0123456789abcdefghij/);
    expect(written).toContain('[hidden]');
    await hub.disconnect();
  });

  it('records the result that a caller receives when the call is cancelled or a middleware throws', async () => {
    const controller = new AbortController();
    const { hub, lines } = recordingHub({
      middleware: [
        (call, next) => {
          if (call.name === 'contract.add') throw new Error('it throws');
          return next();
        },
      ],
    });
    await hub.callTool(
      'contract.wait',
      { ms: 5_000 },
      { signal: controller.signal, onProgress: () => controller.abort() },
    );
    await hub.callTool('contract.add', { a: 1, b: 2 });
    const results = (await lines()).filter(({ type }) => type === 'result') as unknown as { result: ToolResult }[];
    expect(results.map(({ result }) => result.error?.code)).toEqual(['CANCELLED', 'INTERNAL']);
    await hub.disconnect();
  });

  it('records what the middlewares inside it make of a call', async () => {
    const provider = chaos(inProcess(), { fail: 0.6 }, { seed: 4 });
    const { hub, lines } = recordingHub({
      providers: [{ provider, trustAnnotations: true }],
      middleware: [withRetry({ attempts: 20, delayMs: 0.1 }), withCache({ include: ['contract.echo'] })],
    });
    for (let call = 0; call < 3; call++) await hub.callTool('contract.echo', { text: 'x' });
    const all = await lines();
    expect(calledIn(all)).toHaveLength(3);
    expect(all.filter(({ type }) => type === 'result')).toHaveLength(3);
    await hub.disconnect();
  });

  it('records a call once that the hub prepared again because its provider was reconnected', async () => {
    const inner = inProcess();
    const { hub, lines } = recordingHub({ providers: [inner] });
    await hub.connect();
    const prepare = inner.prepareCall!.bind(inner);
    let reconnects = 0;
    inner.prepareCall = async (...call) => {
      const prepared = await prepare(...call);
      if (reconnects++ === 0) {
        await inner.disconnect();
        await inner.connect();
      }
      return prepared;
    };
    expect((await hub.callTool('contract.echo', { text: 'x' })).isError).toBe(false);
    const all = await lines();
    expect(calledIn(all)).toEqual(['contract.echo']);
    expect(all.filter(({ type }) => type === 'result').map(({ result }) => (result as ToolResult).isError)).toEqual([
      false,
    ]);
    await hub.disconnect();
  });

  it('goes on with calls when the recording cannot be written, and flush() rejects', async () => {
    const errors: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => errors.push(message) };
    const write = (): never => {
      throw new Error('the pipe is closed');
    };
    const { hub, recording } = recordingHub({}, { write, logger });
    for (let call = 0; call < 3; call++) {
      expect((await hub.callTool('contract.echo', { text: 'x' })).isError).toBe(false);
      await expect(recording.flush()).rejects.toThrow('The recording is incomplete: the pipe is closed');
    }
    expect(errors).toHaveLength(1);
    await hub.disconnect();
  });

  it.each<[string, unknown, RegExp]>([
    ['no target', {}, /either a path as `file` or a function as `write`/],
    ['two targets', { file: 'x', write: () => 1 }, /either a path/],
    ['an unknown option', { file: 'x', path: 'y' }, /unknown option `path`/],
    ['a limit of 0', { file: 'x', maxPendingCharacters: 0 }, /must be above 0/],
  ])('refuses %s', (_title, options, message) => {
    expect(() => withRecording(options as never)).toThrow(message);
  });
});
