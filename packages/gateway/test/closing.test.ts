// A gateway that is closed while it begins to serve.

import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { defineServer, defineTool, InProcessToolProvider } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway, type Gateway } from '@toolwright/gateway';
import { expect, it } from 'vitest';
import { connectClient } from './fixtures/connect-client.js';
import { echoTools } from './fixtures/echo-tools.js';

const gateway = (): Gateway => createGateway(new InProcessToolProvider({ servers: [echoTools()] }));

it('close() ends a listener that is starting, whose serve call rejects', async () => {
  await using project = await createTestProject();
  const path = project.resolve('socket');
  const begin: ((served: Gateway) => Promise<unknown>)[] = [
    (served) => served.serveSocket({ path }),
    (served) => served.serveHttp(),
    (served) => served.serveStdio({ stdin: new PassThrough(), stdout: new PassThrough() }),
  ];
  for (const serve of begin) {
    const closed = gateway();
    const serving = serve(closed).then(
      () => 'served',
      (error: unknown) => (error as { code?: string }).code,
    );
    await closed.close();
    expect(await serving).toBe('NOT_CONNECTED');
  }
  const refused = await new Promise((resolve) =>
    connect(path).on('error', (error) => resolve((error as { code?: string }).code)),
  );
  expect(refused).toBe('ENOENT');
});

it('serveStdio() rejects with LOCKED when the streams are served already', async () => {
  await using one = gateway();
  const stdin = new PassThrough();
  const streams = { stdin, stdout: new PassThrough() };
  const connection = await one.serveStdio(streams);
  await expect(one.serveStdio(streams)).rejects.toMatchObject({ code: 'LOCKED' });
  stdin.end();
  await connection.closed;
  await one.serveStdio({ stdin: new PassThrough(), stdout: new PassThrough() });
});

it('createGateway() lists tools in pages that every client accepts, and omits larger tools', async () => {
  const tools = Array.from({ length: 12 }, (_, index) =>
    defineTool({ name: `t${index}`, description: 'x'.repeat(400_000), execute: () => 'done' }),
  );
  const provider = new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools })] });
  await using served = createGateway(provider);
  const client = await connectClient(served, {});
  const pages: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    pages.push(JSON.stringify(page).length);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(pages.length).toBe(6);
  expect(Math.max(...pages)).toBeLessThan(1024 * 1024 + 10_000);
  await client.close();
});
