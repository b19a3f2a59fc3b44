import { once, EventEmitter } from 'node:events';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolError,
  ToolHub,
  type ToolDefinition,
  type ToolProvider,
} from '@toolwright/core';
import { expectNoLeaks } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

const definition = (name: string): ToolDefinition => ({
  name,
  description: 'A tool.',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
});

/** A provider of a stranger that is down until `isUp`, and counts how often it is connected. */
class Server implements ToolProvider {
  readonly name = 'late-provider';
  readonly kind = 'mcp';
  readonly servers = ['late'];
  isUp = false;
  attempts: (boolean | undefined)[] = [];
  tools = [definition('late.run')];
  lists = 0;
  listing: () => Promise<void> = async () => undefined;
  #lost: ((failure: ToolError) => void) | undefined;
  #changed: (() => void) | undefined;

  async connect({ onDemand }: { onDemand?: boolean } = {}): Promise<void> {
    this.attempts.push(onDemand);
    if (!this.isUp) throw new ToolError('UNAVAILABLE', 'It is down.');
  }

  async listTools(): Promise<ToolDefinition[]> {
    this.lists++;
    await this.listing();
    return this.tools;
  }

  callTool: ToolProvider['callTool'] = async () => ({ content: [], isError: false, directives: [], durationMs: 0 });
  async disconnect(): Promise<void> {}
  async [Symbol.asyncDispose](): Promise<void> {}

  onToolsChanged(listener: () => void): () => void {
    this.#changed = listener;
    return () => (this.#changed = undefined);
  }

  onLost(listener: (failure: ToolError) => void): () => void {
    this.#lost = listener;
    return () => (this.#lost = undefined);
  }

  lose(): void {
    this.#lost?.(new ToolError('CONNECTION_CLOSED', 'It went.'));
  }

  change(): void {
    this.#changed?.();
  }
}

/** Resolves when the hub next reports a changed list. */
const changed = (hub: ToolHub): Promise<void> =>
  new Promise((resolve) => {
    const unsubscribe = hub.onToolsChanged(() => {
      unsubscribe();
      resolve();
    });
  });

const namesOf = async (hub: ToolHub): Promise<string[]> => (await hub.listTools()).map(({ name }) => name);

describe('ToolHub with a provider that was down at connect()', () => {
  it('is connected, listed and announced by the next call', async () => {
    const server = new Server();
    await using hub = new ToolHub({ providers: [server] });
    await hub.connect();
    expect(await namesOf(hub)).toEqual([]);
    server.isUp = true;
    const told = changed(hub);
    expect(await hub.callTool('late.run')).toMatchObject({ isError: false });
    await told;
    expect(await namesOf(hub)).toEqual(['late.run']);
  });

  it('is connected, listed and announced by connect() with onDemand false', async () => {
    const server = new Server();
    await using hub = new ToolHub({ providers: [server] });
    await hub.connect();
    server.isUp = true;
    const told = changed(hub);
    await hub.connect();
    expect(await namesOf(hub)).toEqual(['late.run']);
    await told;
    expect(server.attempts).toEqual([false, false]);
    await hub.connect();
    expect(server.attempts).toHaveLength(2);
  });

  it('is connected, listed and announced in the background', async () => {
    const server = new Server();
    await using hub = new ToolHub({ providers: [server] });
    await hub.connect();
    const [row] = hub.status();
    expect(row?.retryAt).toBeGreaterThan(Date.now());
    server.isUp = true;
    await changed(hub);
    expect(await namesOf(hub)).toEqual(['late.run']);
    expect(server.attempts).toEqual([false, true]);
    expect(hub.status()[0]).not.toHaveProperty('retryAt');
  });

  it('is connected in the background through an outer hub', async () => {
    const server = new Server();
    await using hub = new ToolHub({ providers: [new ToolHub({ providers: [server] })] });
    await hub.connect();
    server.isUp = true;
    await changed(hub);
    expect(await namesOf(hub)).toEqual(['late.run']);
  });

  it('is not retried once the hub is disconnected or the provider removed', async () => {
    await using _leaks = expectNoLeaks();
    const [one, two] = [new Server(), new Server()];
    const first = new ToolHub({ providers: [one] });
    await first.connect();
    await first.disconnect();
    const second = new ToolHub({ providers: [two] });
    await second.connect();
    await second.remove(two.name);
    expect([one.attempts.length, two.attempts.length]).toEqual([1, 1]);
    await second.disconnect();
  });
});

describe('ToolHub with a provider that failed later', () => {
  it('is reconnected in the background when it was lost, and changed tools are announced', async () => {
    const server = new Server();
    server.isUp = true;
    await using hub = new ToolHub({ providers: [server] });
    await hub.connect();
    server.tools = [definition('late.run'), definition('late.more')];
    server.lose();
    await changed(hub);
    expect(await namesOf(hub)).toEqual(['late.run', 'late.more']);
    expect(server.attempts).toHaveLength(2);
  });

  it('is listed again when listing failed', async () => {
    const server = new Server();
    server.isUp = true;
    server.listing = () => Promise.reject(new ToolError('UNAVAILABLE', 'Not now.'));
    await using hub = new ToolHub({ providers: [server] });
    await hub.connect();
    expect(await namesOf(hub)).toEqual([]);
    server.listing = async () => undefined;
    await changed(hub);
    expect(await namesOf(hub)).toEqual(['late.run']);
    expect(server.attempts).toHaveLength(1);
  });
});

describe('ToolHub.add() during connect()', () => {
  it('is connected by it', async () => {
    const going = new EventEmitter();
    const slow = new InProcessToolProvider({ servers: [] });
    slow.connect = async () => void (await once(going, 'go'));
    const server = new Server();
    server.isUp = true;
    await using hub = new ToolHub({ providers: [slow] });
    const connected = hub.connect();
    await new Promise(setImmediate);
    const added = hub.add(server);
    going.emit('go');
    await connected;
    expect(hub.status()).toMatchObject([{}, { state: 'READY', toolCount: 1 }]);
    expect(await namesOf(hub)).toEqual(['late.run']);
    await added;
  });
});

describe('ToolHub.callTool() of a known tool', () => {
  it('does not wait while the list is read again', async () => {
    const server = new Server();
    server.isUp = true;
    await using hub = new ToolHub({ providers: [server] });
    await hub.connect();
    server.listing = () => new Promise(() => undefined);
    server.change();
    await expect.poll(() => server.lists).toBe(2);
    expect(await hub.callTool('late.run', {}, { timeoutMs: 5_000 })).toMatchObject({ isError: false });
  });
});

describe('ToolHub.remove()', () => {
  it.each(['connect', 'list'])('while the hub waits for it to %s is ended, and never tried again', async (step) => {
    await using _ = expectNoLeaks(); // a timer of the next try would be one
    const gate = new EventEmitter();
    const going = once(gate, 'go').then(() => undefined);
    const calls: string[] = [];
    class Slow extends Server {
      override async connect(): Promise<void> {
        calls.push('connect');
        if (step === 'connect') await going;
      }
      override async disconnect(): Promise<void> {
        calls.push('disconnect');
      }
    }
    const server = new Slow();
    if (step === 'list') server.listing = () => going;
    const hub = new ToolHub();
    await hub.connect();
    const adding = hub.add(server);
    while (calls.length + server.lists < (step === 'list' ? 2 : 1)) await new Promise(setImmediate);
    await hub.remove('late-provider', { drainMs: 0 });
    gate.emit('go');
    await adding;
    await hub.disconnect();
    await new Promise(setImmediate);
    expect(calls.filter((call) => call === 'connect')).toHaveLength(1);
    expect(calls.at(-1)).toBe('disconnect');
  });
});

it('is reconnected by connect() of its hub when other code disconnected it', async () => {
  const provider = new InProcessToolProvider({
    servers: [
      defineServer({
        name: 's',
        version: '1',
        tools: [defineTool({ name: 't', description: 'T.', execute: () => 'ran' })],
      }),
    ],
  });
  await using hub = new ToolHub({ providers: [provider] });
  await hub.connect();
  await provider.disconnect();
  expect((await hub.callTool('s.t')).error?.code).toBe('NOT_CONNECTED');
  await hub.connect();
  expect((await hub.callTool('s.t')).isError).toBe(false);
});

it.each(['at once', 'later'])(
  'a list that changes whenever it is read is read a few times, then left for a while: %s',
  async (when) => {
    const server = new Server();
    server.isUp = true;
    server.listing = async () => undefined;
    const listTools = server.listTools.bind(server);
    server.listTools = (): Promise<ToolDefinition[]> => {
      server.tools = [definition('late.run'), definition(`late.t${server.lists}`)];
      if (when === 'at once') server.change();
      const listed = listTools();
      return when === 'at once' ? listed : listed.finally(() => server.change());
    };
    await using hub = new ToolHub({ providers: [server] });
    await hub.connect();
    expect(hub.status()[0]).toMatchObject({ state: 'READY', toolCount: 2 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(server.lists).toBeLessThanOrEqual(6);
    const before = server.lists;
    await changed(hub); // it is read again, after the pause
    expect(server.lists).toBeGreaterThan(before);
  },
);

it('connect() of a hub after a disconnect() of the attempt before connects', async () => {
  class Slow extends Server {
    override async connect(options: { onDemand?: boolean } = {}): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, 50));
      await super.connect(options);
    }
  }
  const server = new Slow();
  server.isUp = true;
  const hub = new ToolHub({ providers: [server] });
  const first = hub.connect().catch((error: unknown) => error);
  const ended = hub.disconnect();
  await Promise.all([hub.connect(), ended]);
  expect(hub.health().state).toBe('READY');
  expect(hub.status()[0]?.state).toBe('READY');
  expect(await first).toMatchObject({ code: 'NOT_CONNECTED' });
  await hub.disconnect();
});
