// Providers in child processes: one calculator in TypeScript and in JavaScript, one provider with state, one in Python,
// and a provider file loaded into this process.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

// #region host
import { ToolHub } from '@toolwright/core';
import { ProcessToolProvider } from '@toolwright/runtime';

await using hub = new ToolHub({
  providers: [
    new ProcessToolProvider({ name: 'calculator', path: here('./calculator.ts') }),
    new ProcessToolProvider({ name: 'notes', path: here('./notes.ts'), config: { limit: 2 } }),
  ],
});
const sum = await hub.callTool('calculator.add', { a: 1, b: 2 });
// #endregion
assert.deepEqual(sum.structuredContent, { sum: 3 });

await hub.callTool('notes.add', { text: 'buy milk' });
const stored = await hub.callTool('notes.add', { text: 'buy bread' });
assert.deepEqual(stored.structuredContent, { count: 2 });
const full = await hub.callTool('notes.add', { text: 'buy cheese' });
assert.match(full.error?.message ?? '', /limit of 2 notes/);
const steps: string[] = [];
await hub.callTool('notes.review', {}, { onProgress: ({ message }) => steps.push(message ?? '') });
assert.deepEqual(steps, ['buy milk', 'buy bread']);

// #region process
const provider = new ProcessToolProvider({ name: 'notes', path: here('./notes.ts'), callTimeoutMs: 10_000 });
await provider.connect();
process.kill(provider.pid!, 'SIGKILL');
const next = await provider.callTool('notes.add', { text: 'the process was restarted' });
await provider.disconnect();
// #endregion
assert.ok(next.structuredContent?.count === 1 || next.error?.code === 'OUTCOME_UNKNOWN');

// #region in-process
import { providerFromModule } from '@toolwright/runtime';

await using inProcess = await providerFromModule(here('./calculator.ts'));
const same = await inProcess.callTool('calculator.add', { a: 1, b: 2 });
// #endregion
assert.deepEqual(same.structuredContent, sum.structuredContent);

// Plain JavaScript imports the built package, as in a project that has installed it.
assert.ok(existsSync(here('../../packages/runtime/dist/provider/index.js')), 'run "npm run build" first');
await using javascript = new ProcessToolProvider({ name: 'calculator', path: here('./calculator.mjs') });
assert.deepEqual((await javascript.callTool('calculator.add', { a: 1, b: 2 })).structuredContent, { sum: 3 });

await using python = new ProcessToolProvider({ name: 'adder', path: here('./adder.py') });
const fromPython = await python.callTool('adder.add', { a: 1, b: 2 });
assert.deepEqual(
  fromPython.structuredContent ?? fromPython.error?.code,
  fromPython.error ? 'SPAWN_FAILED' : { sum: 3 },
); // without python3
console.log('every provider returned the same sum');
