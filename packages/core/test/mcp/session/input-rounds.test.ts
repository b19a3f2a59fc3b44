// Rounds in which one of several requests cannot be answered.

import { textOf, type JsonObject } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { expect, it, vi } from 'vitest';
import { complete, json, serveScripted } from '../serve-scripted.js';

const QUESTION = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object' } } };

it('MCPToolProvider.callTool() withdraws the other requests of a round when one cannot be answered', async () => {
  const questions = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`q${index}`, QUESTION]));
  let inputRequests: object = { ...questions, unknown: { method: 'no/such' } };
  await using server = await serveScripted({
    'tools/call': (request, response) =>
      request.params.inputResponses
        ? complete(response, request, { content: [{ type: 'text', text: 'answered' }] })
        : json(response, { jsonrpc: '2.0', id: request.id, result: { resultType: 'input_required', inputRequests } }),
  });
  const withdrawn = vi.fn();
  const elicitation = vi.fn((_: JsonObject, { signal }: { signal: AbortSignal }): Promise<JsonObject> => {
    if (!('unknown' in inputRequests)) return Promise.resolve({ action: 'accept', content: {} });
    signal.addEventListener('abort', () => withdrawn());
    return new Promise(() => undefined); // a person who does not answer, and a dialog that stays
  });
  await using provider = new MCPToolProvider({ name: 's', url: server.url, elicitation });
  const warned = vi.fn();
  process.on('warning', warned);
  for (let call = 1; call <= 3; call++) {
    expect((await provider.callTool('s.do')).error?.code).toBe('EXECUTION_FAILED');
    expect([elicitation.mock.calls.length, withdrawn.mock.calls.length]).toEqual([20 * call, 20 * call]);
  }
  inputRequests = { q: QUESTION };
  expect(textOf(await provider.callTool('s.do'))).toBe('answered'); // the withdrawn requests occupy no place
  process.off('warning', warned);
  expect(warned).not.toHaveBeenCalled();
});
