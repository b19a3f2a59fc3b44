// Approvals for several calls of one client: equal ones are requested once, the others one after the other.

import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';
import { createGateway } from '@toolwright/gateway';
import { describe, expect, it } from 'vitest';
import { connectClient } from './fixtures/connect-client.js';

function setUp() {
  const run = defineTool({
    name: 'run',
    description: 'Runs it.',
    input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    execute: ({ n }) => `ran ${n}`,
  });
  const server = defineServer({ name: 'sh', version: '1.0.0', tools: [run] });
  return new ToolHub({
    providers: [new InProcessToolProvider({ servers: [server] })],
    policy: { default: 'ask', rules: [] },
  });
}

/** A client that answers "once" after some turns of the event loop, and counts the requests open at the same time. */
async function connectAnswering(gateway: Parameters<typeof connectClient>[0]) {
  const messages: string[] = [];
  let open = 0;
  let most = 0;
  const client = await connectClient(gateway, { elicitation: {} }, (made) =>
    made.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      messages.push(params.message);
      most = Math.max(most, ++open);
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      open--;
      return { action: 'accept', content: { decision: 'once' } };
    }),
  );
  const call = async (n: number) => (await client.callTool({ name: 'sh__run', arguments: { n } })).isError === true;
  return { client, call, messages, most: () => most };
}

for (const forward of [true, false]) {
  describe(`requestApproval() ${forward ? 'with' : 'without'} forwarding`, () => {
    it('asks once for five equal concurrent calls of one client', async () => {
      await using hub = setUp();
      await using gateway = createGateway(hub, { forward });
      const { client, call, messages } = await connectAnswering(gateway);
      expect(await Promise.all([1, 1, 1, 1, 1].map(call))).toEqual([false, false, false, false, false]);
      expect(messages).toHaveLength(1);
      await client.close();
    });

    it('asks one after the other for two different calls of one client', async () => {
      await using hub = setUp();
      await using gateway = createGateway(hub, { forward });
      const { client, call, messages, most } = await connectAnswering(gateway);
      expect(await Promise.all([1, 2].map(call))).toEqual([false, false]);
      expect([messages.length, most()]).toEqual([2, 1]);
      await client.close();
    });

    it('asks each of two clients that make equal calls', async () => {
      await using hub = setUp();
      await using gateway = createGateway(hub, { forward });
      const [one, two] = [await connectAnswering(gateway), await connectAnswering(gateway)];
      expect(await Promise.all([one.call(1), two.call(1)])).toEqual([false, false]);
      expect([one.messages.length, two.messages.length]).toEqual([1, 1]);
      await Promise.all([one.client.close(), two.client.close()]);
    });

    it('still asks for an equal call when the first call is cancelled before its turn', async () => {
      await using hub = setUp();
      await using gateway = createGateway(hub, { forward });
      const { client, call, messages } = await connectAnswering(gateway);
      const first = call(1);
      const abort = new AbortController();
      const cancelled = client.callTool({ name: 'sh__run', arguments: { n: 2 } }, undefined, { signal: abort.signal });
      const joined = call(2);
      abort.abort();
      await expect(cancelled).rejects.toThrow();
      expect(await Promise.all([first, joined])).toEqual([false, false]);
      expect(messages).toHaveLength(2);
      await client.close();
    });
  });
}
