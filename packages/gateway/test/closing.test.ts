// A gateway that is closed while it begins to serve.

import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { InProcessToolProvider } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway, type Gateway } from '@toolwright/gateway';
import { expect, it } from 'vitest';
import { echoTools } from './fixtures/echo-tools.js';

const gateway = (): Gateway => createGateway(new InProcessToolProvider({ servers: [echoTools()] }));

it('close() ends a listener that begins meanwhile, and its serving rejects', async () => {
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
