// How many connections a listener takes, and which one makes room for another.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { InProcessToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { contractServer } from '@toolwright/core/testing';
import { createGateway, type HttpListener } from '@toolwright/gateway';
import { afterEach, describe, expect, it } from 'vitest';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serve(maxConnections?: number): Promise<HttpListener> {
  const provider = new InProcessToolProvider({ name: 'contract', servers: [contractServer()] });
  const gateway = createGateway(provider, { ...(maxConnections && { limits: { maxConnections } }) });
  ends.push(
    () => provider.disconnect(),
    () => gateway.close(),
  );
  return gateway.serveHttp({ stateless: true, auth: 'none' });
}

/** A connection that collects the answers it receives. */
class Dialled {
  readonly socket: Socket;
  readonly connected: Promise<unknown>;
  readonly closed: Promise<void>;
  readonly #host: string;
  #text = '';

  constructor(listener: HttpListener) {
    this.#host = `127.0.0.1:${listener.port}`;
    this.socket = connect(listener.port!, '127.0.0.1').on('error', () => undefined);
    this.connected = once(this.socket, 'connect');
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    this.socket.setEncoding('latin1').on('data', (text: string) => (this.#text += text));
    ends.push(() => this.socket.destroy());
  }

  /** Asks how the listener is; gives the head of the answer, or undefined when the connection has been closed. */
  async ask(path = '/healthz'): Promise<string | undefined> {
    this.#text = '';
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n\r\n`);
    while (!this.#text.includes('\r\n\r\n')) {
      const isClosed = await Promise.race([this.closed.then(() => true), once(this.socket, 'data').then(() => false)]);
      if (isClosed && !this.#text.includes('\r\n\r\n')) return undefined;
    }
    return this.#text;
  }

  /** Begins a call that takes so long. */
  begin(ms: number): void {
    const params = { name: 'contract__wait', arguments: { ms }, _meta: { progressToken: 1 } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    this.socket.write(
      `POST /mcp HTTP/1.1\r\nHost: ${this.#host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  }

  /** Begins a call that is not answered; resolves when it has begun. */
  async hold(): Promise<void> {
    this.begin(60_000);
    await once(this.socket, 'data');
  }
}

async function dial(listener: HttpListener, count: number): Promise<Dialled[]> {
  const dialled = Array.from({ length: count }, () => new Dialled(listener));
  await Promise.all(dialled.map(({ connected }) => connected));
  return dialled;
}

describe('serveHttp() connections', () => {
  it('answers 1,000 connections that send their request when all are open', async () => {
    const dialled = await dial(await serve(), 1_000);
    const answers = await Promise.all(dialled.map((each) => each.ask()));
    expect(answers.filter((answer) => answer?.startsWith('HTTP/1.1 200'))).toHaveLength(1_000);
  });

  it('serves many concurrent calls of a client, and more before the last answers have ended', async () => {
    const { url } = await serve(600);
    await using client = new MCPToolProvider({ name: 'remote', url });
    for (let round = 0; round < 4; round++) {
      const calls = Array.from({ length: 400 }, (_, a) => client.callTool('remote.contract__add', { a, b: round }));
      const errors = (await Promise.all(calls)).flatMap(({ error }) => error ?? []);
      expect(errors).toEqual([]);
    }
  });

  it('closes the one idle the longest when all are taken, and none without a request yet', async () => {
    const listener = await serve(8);
    const [first, second] = (await dial(listener, 2)) as [Dialled, Dialled];
    await first.ask();
    await second.ask();
    await first.ask(); // so that the second has been idle for longer
    const silent = await dial(listener, 6);
    const [another] = (await dial(listener, 1)) as [Dialled];
    expect(await another.ask()).toMatch(/^HTTP\/1.1 200/);
    await second.closed;
    for (const each of [first, ...silent]) expect(await each.ask()).toMatch(/^HTTP\/1.1 200/);
  });

  it('keeps a quarter open between requests, and closes the others with `connection: close`', async () => {
    const listener = await serve(8);
    const dialled = (await dial(listener, 6)).reverse(); // they are taken in order: with the last one all are
    for (const each of dialled.slice(0, 4)) {
      expect(await each.ask()).toMatch(/connection: close/i);
      await each.closed;
    }
    for (const each of dialled.slice(4)) {
      expect(await each.ask()).toMatch(/connection: keep-alive/i);
      expect(await each.ask()).toMatch(/^HTTP\/1.1 200/);
    }
  });

  it('closes the oldest silent one when all are silent, so that a flood shuts no client out', async () => {
    const listener = await serve(4);
    const flood = await dial(listener, 40);
    const [honest] = (await dial(listener, 1)) as [Dialled];
    expect(await honest.ask()).toMatch(/^HTTP\/1.1 200/);
    await Promise.all(flood.slice(0, 37).map(({ closed }) => closed));
    expect(await flood.at(-1)!.ask()).toMatch(/^HTTP\/1.1 200/);
  });

  it('answers 503 on connections over the limit when all are in use, and serves again when one is free', async () => {
    const listener = await serve(3);
    const held = await dial(listener, 3);
    for (const each of held) await each.hold();
    for (let pair = 0; pair < 10; pair++) {
      const excess = await dial(listener, 2);
      const refusals = await Promise.all(excess.map((each) => each.ask('/mcp')));
      for (const refusal of refusals) {
        expect(refusal).toMatch(/^HTTP\/1.1 503/);
        expect(refusal).toMatch(/retry-after: 1\r\n/i);
      }
      await Promise.all(excess.map(({ closed }) => closed));
    }
    const [health] = (await dial(listener, 1)) as [Dialled];
    expect(await health.ask()).toMatch(/^HTTP\/1.1 200/); // the gateway is well
    held[0]!.socket.destroy();
    await expect
      .poll(async () => {
        const [another] = (await dial(listener, 1)) as [Dialled];
        return another.ask('/mcp');
      })
      .toMatch(/^HTTP\/1.1 405/); // looked at: a gateway without sessions takes only POST
  });

  it('serves one over the limit when another is free by the time of its request', async () => {
    const listener = await serve(1);
    const [first] = (await dial(listener, 1)) as [Dialled];
    first.begin(50);
    await once(first.socket, 'data');
    const [second] = (await dial(listener, 1)) as [Dialled];
    await first.closed; // after its answer
    expect(await second.ask('/mcp')).toMatch(/^HTTP\/1.1 405/);
  });

  it('ends every call of a closed connection, including pipelined ones', async () => {
    const listener = await serve();
    const [dialled] = (await dial(listener, 1)) as [Dialled];
    dialled.begin(60_000);
    dialled.begin(60_000);
    await dialled.hold();
    await using client = new MCPToolProvider({ name: 'remote', url: listener.url });
    dialled.socket.destroy();
    const counted = async (): Promise<unknown> => {
      const { structuredContent } = await client.callTool('remote.contract__count');
      return (structuredContent as { aborts: number }).aborts;
    };
    await expect.poll(counted).toBe(3);
  });
});
