// Middleware around a hub's calls: one that is shipped for each need, and one of your own.

import assert from 'node:assert/strict';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolError,
  ToolHub,
  withCache,
  withDuplicateGuard,
  withRetry,
  type Middleware,
} from '@toolwright/core';

let requests = 0;
const forecast = defineTool({
  name: 'forecast',
  description: 'Forecast the weather of a city.',
  input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  annotations: { readOnlyHint: true },
  execute: ({ city }) => {
    if (++requests === 1) throw new ToolError('UNAVAILABLE', 'The weather service is busy.', { retryable: true });
    return `Sun in ${city}`;
  },
});
const weather = defineServer({ name: 'weather', version: '1.0.0', tools: [forecast] });
const providers = [new InProcessToolProvider({ servers: [weather] })];

const log: Middleware = async (call, next) => {
  const result = await next();
  console.error(`${call.name}: ${result.error?.code ?? 'ok'} in ${Math.round(result.durationMs)} ms`);
  return result;
};

await using hub = new ToolHub({
  providers,
  middleware: [
    log,
    withDuplicateGuard({ repeats: 3 }),
    withCache({ include: ['weather'], ttlMs: 300_000 }),
    withRetry({ attempts: 3, delayMs: 10 }),
  ],
});

const ask = async (): Promise<string> => textOf(await hub.callTool('weather.forecast', { city: 'Oslo' }));
assert.equal(await ask(), 'Sun in Oslo'); // the second attempt
assert.equal(await ask(), 'Sun in Oslo'); // from the cache
assert.equal(await ask(), 'Sun in Oslo');
assert.match(await ask(), /its result was the same each time/);
assert.equal(requests, 2);
