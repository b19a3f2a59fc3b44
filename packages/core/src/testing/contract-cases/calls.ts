// Contract: one call, its result and its failures.

import assert from 'node:assert/strict';
import type { ToolErrorCode } from '../../contract/errors.js';
import { textOf, type ToolResult } from '../../contract/result.js';
import type { ToolProvider } from '../../contract/tool-provider.js';
import type { ContractCase } from './contract-case.js';

/** Fails unless the result is a failure with that code. */
export function assertFailed(result: ToolResult, code: ToolErrorCode): void {
  assert.equal(result.isError, true, `expected ${code}, got ${JSON.stringify(result.content).slice(0, 200)}`);
  assert.equal(result.error?.code, code, result.error?.message);
}

const refused = (title: string, code: ToolErrorCode, name: unknown, args?: unknown): ContractCase => ({
  title: `callTool() fails with ${code} when ${title}`,
  run: async (provider) => assertFailed(await provider.callTool(name as string, args as never), code),
});

const failed = (kind: 'error' | 'string' | 'undefined'): ContractCase => ({
  title: `callTool() fails with EXECUTION_FAILED when the tool throws ${kind === 'error' ? 'an Error' : kind === 'string' ? 'a string' : 'undefined'}`,
  run: async (provider) => assertFailed(await provider.callTool('contract.fail', { kind }), 'EXECUTION_FAILED'),
});

export const callCases: ContractCase[] = [
  {
    title: 'callTool() connects first when the provider is not connected',
    run: async (provider) => assert.equal((await echo(provider, 'hello')).isError, false),
  },
  {
    title: 'callTool() returns structured content and its text',
    run: async (provider) => {
      const result = await echo(provider, 'hello');
      assert.equal(result.isError, false);
      assert.deepEqual(result.structuredContent, { text: 'hello' });
      assert.match(textOf(result), /hello/);
    },
  },
  {
    title: 'callTool() accepts a bare name that is unique',
    run: async (provider) => {
      const result = await provider.callTool('add', { a: 1, b: 2 });
      // A hub accepts bare names of in-process tools only.
      if (provider.kind === 'hub' && result.isError) assertFailed(result, 'TOOL_NOT_FOUND');
      else assert.deepEqual(result.structuredContent, { sum: 3 });
    },
  },
  {
    title: 'callTool() does not accept a bare name behind a foreign prefix',
    run: async (provider) => {
      assertFailed(await provider.callTool('stranger.echo', { text: 'x' }), 'TOOL_NOT_FOUND');
      const call = await provider.prepareCall?.('stranger.echo', { text: 'x' });
      if (call) assertFailed(call.refused ?? (await call.execute()), 'TOOL_NOT_FOUND');
    },
  },
  {
    title: 'callTool() passes every character of an argument unchanged',
    run: async (provider) => {
      const text = 'zero \0, quote ", back \\, line\n\r\u2028, accent e\u0301, emoji 👩‍💻, right-to-left \u202e';
      assert.deepEqual((await echo(provider, text)).structuredContent, { text });
    },
  },
  {
    title: 'callTool() measures durationMs',
    run: async (provider) => {
      await provider.connect();
      const { durationMs } = await provider.callTool('contract.wait', { ms: 50 });
      assert.ok(durationMs >= 45 && durationMs < 60_000, `durationMs is ${durationMs}`);
      assert.ok((await provider.callTool('contract.nothing')).durationMs >= 0);
    },
  },
  {
    title: 'callTool() always returns an array of directives',
    run: async (provider) => {
      assert.deepEqual((await echo(provider, 'x')).directives, []);
      assert.deepEqual((await provider.callTool('contract.nothing')).directives, []);
    },
  },
  {
    title: 'callTool() returns a directive with its type and params',
    run: async (provider) => {
      const { directives } = await provider.callTool('contract.directive');
      assert.deepEqual(directives, [{ type: 'inject_context', params: { content: 'from the contract' } }]);
    },
  },
  {
    title: 'callTool() returns 64 KiB of text completely',
    run: async (provider) =>
      assert.equal(textOf(await provider.callTool('contract.big', { bytes: 65_536 })).length, 65_536),
  },
  {
    title: 'callTool() returns 1 MiB of text completely, or truncated and marked so',
    run: async (provider) => {
      const result = await provider.callTool('contract.big', { bytes: 1_048_576 });
      assert.equal(result.isError, false);
      const isComplete = textOf(result).length === 1_048_576;
      assert.ok(
        isComplete || result._meta?.['toolwright/truncated'] !== undefined,
        `${textOf(result).length} characters and no mark`,
      );
      assert.match(textOf(result), /^x{1000}/);
    },
  },
  refused('the tool is unknown', 'TOOL_NOT_FOUND', 'contract.nothing'),
  refused('the server is unknown', 'TOOL_NOT_FOUND', 'nowhere.echo', { text: 'x' }),
  refused('the name is not a string', 'TOOL_NOT_FOUND', undefined),
  {
    title: 'callTool() suggests similar names when the tool is unknown',
    run: async (provider) => {
      const { error } = await provider.callTool('contract.ecko', { text: 'x' });
      assert.match(error?.message ?? '', /contract\.echo/);
    },
  },
  refused('an argument is missing', 'INVALID_ARGUMENT', 'contract.add', { a: 1 }),
  refused('an argument has another type', 'INVALID_ARGUMENT', 'contract.add', { a: 1, b: 'two' }),
  refused('an argument is unknown', 'INVALID_ARGUMENT', 'contract.echo', { text: 'x', texts: 'y' }),
  refused('the arguments are null', 'INVALID_ARGUMENT', 'contract.echo', null),
  {
    title: 'callTool() coerces a number that was sent as a string',
    run: async (provider) => {
      assert.deepEqual((await provider.callTool('contract.add', { a: '1', b: 2 })).structuredContent, { sum: 3 });
    },
  },
  failed('error'),
  failed('string'),
  failed('undefined'),
  {
    title: 'callTool() returns the message of a failure to the model and to the program',
    run: async (provider) => {
      const result = await provider.callTool('contract.fail', { kind: 'error' });
      assert.match(textOf(result), /the contract wanted an error/);
      assert.match(result.error?.message ?? '', /the contract wanted an error/);
      assert.equal(typeof result.error?.retryable, 'boolean');
    },
  },
  {
    title: 'callTool() works after a failure',
    run: async (provider) => {
      await provider.callTool('contract.fail', { kind: 'undefined' });
      await provider.callTool('contract.bad_output');
      assert.deepEqual((await echo(provider, 'still here')).structuredContent, { text: 'still here' });
    },
  },
  {
    title: 'callTool() fails with OUTPUT_INVALID when the output does not match the schema',
    run: async (provider) => {
      const result = await provider.callTool('contract.bad_output');
      assertFailed(result, 'OUTPUT_INVALID');
      assert.equal(result.structuredContent, undefined);
    },
  },
  {
    title: 'callTool() sends the arguments as they were when it was called',
    run: async (provider) => {
      for (const connected of [false, true]) {
        if (connected) await provider.connect();
        const args = { text: 'as called' };
        const answer = provider.callTool('contract.echo', args);
        args.text = 'changed';
        assert.deepEqual((await answer).structuredContent, { text: 'as called' });
      }
    },
  },
  {
    title: 'callTool() returns structured content that no other result shares',
    run: async (provider) => {
      const first = await echo(provider, 'x');
      (first.structuredContent as { text: string }).text = 'changed';
      assert.deepEqual((await echo(provider, 'x')).structuredContent, { text: 'x' });
    },
  },
  {
    title: 'callTool() runs the tool once per call',
    run: async (provider) => {
      for (let call = 1; call <= 5; call++) {
        const { structuredContent } = await provider.callTool('contract.count');
        assert.equal(structuredContent?.executions, call);
      }
    },
  },
];

export function echo(provider: ToolProvider, text: string): Promise<ToolResult> {
  return provider.callTool('contract.echo', { text });
}
