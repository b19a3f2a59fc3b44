// Contract: prepareCall(). A provider without it passes, because a hub then prepares its calls.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../contract/json.js';
import type { PreparedCall, ToolProvider } from '../../contract/tool-provider.js';
import type { ContractCase } from './contract-case.js';
import { assertFailed } from './calls.js';

const prepared = (
  title: string,
  name: string,
  args: JsonObject,
  check: (call: PreparedCall, provider: ToolProvider) => Promise<void>,
): ContractCase => ({
  title: `prepareCall() ${title}`,
  run: async (provider) => {
    if (provider.prepareCall) await check(await provider.prepareCall(name, args), provider);
  },
});

export const preparedCases: ContractCase[] = [
  prepared('resolves the tool', 'contract.echo', { text: 'x' }, async ({ tool, refused }) => {
    assert.equal(refused, undefined);
    assert.equal(tool.name, 'contract.echo');
  }),
  prepared('returns the coerced arguments', 'contract.add', { a: '1', b: 2 }, async ({ args }) =>
    assert.deepEqual(args, { a: 1, b: 2 }),
  ),
  prepared('returns at least one claim', 'contract.echo', { text: 'x' }, async ({ claims }) => {
    assert.ok(claims.length > 0);
    for (const { pattern, match, understood } of claims) {
      assert.deepEqual(
        [typeof pattern, typeof understood, ['glob', 'tokens'].includes(match)],
        ['string', 'boolean', true],
      );
    }
  }),
  prepared('runs nothing before execute()', 'contract.count', {}, async (_call, provider) => {
    assert.equal((await provider.callTool('contract.count')).structuredContent?.executions, 1);
  }),
  prepared('returns a call that execute() runs', 'contract.add', { a: 2, b: 3 }, async (call) => {
    assert.deepEqual((await call.execute()).structuredContent, { sum: 5 });
  }),
  prepared('returns a call that does not change with its arguments', 'contract.echo', { text: 'x' }, async (call) => {
    Reflect.set(call.args, 'text', 'changed');
    assert.deepEqual((await call.execute()).structuredContent, { text: 'x' });
  }),
  prepared(
    'returns a call that fails with NOT_CONNECTED after disconnect()',
    'contract.count',
    {},
    async (call, provider) => {
      await provider.disconnect();
      assertFailed(await call.execute(), 'NOT_CONNECTED');
    },
  ),
  prepared('returns a call that no later connection runs', 'contract.count', {}, async (call, provider) => {
    await provider.disconnect();
    await provider.connect();
    assertFailed(await call.execute(), 'NOT_CONNECTED');
    assert.equal((await provider.callTool('contract.count')).structuredContent?.executions, 1);
  }),
  prepared('refuses an unknown tool', 'contract.nothing', {}, async (call) => {
    const { refused } = call;
    assert.ok(refused);
    assertFailed(refused, 'TOOL_NOT_FOUND');
    assertFailed(await call.execute(), 'TOOL_NOT_FOUND');
  }),
  prepared('refuses wrong arguments', 'contract.add', { a: 'one', b: 2 }, async ({ refused }) => {
    assert.ok(refused);
    assertFailed(refused, 'INVALID_ARGUMENT');
  }),
];
