// Storing, embedding and searching run in the memory thread and must not block the host's thread.

import { Worker } from 'node:worker_threads';
import { InProcessToolProvider } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { expect, it } from 'vitest';
import { createMemoryServer } from '../../../../src/servers/memory/index.js';
import { tries } from '../../../soak.js';

const MEMORIES = tries(10_000);
const IN_FLIGHT = 20;

/** The lateness of 1 ms timers in an idle thread: the delay caused by the machine. */
const IDLE = `
  const { parentPort } = require('node:worker_threads');
  const late = []; let last = performance.now();
  const timer = setInterval(() => { const now = performance.now(); late.push(now - last); last = now; }, 1);
  parentPort.once('message', () => { clearInterval(timer); parentPort.postMessage(late); });`;

/** The 99th percentile of the lateness, in milliseconds. */
function percentile99(late: number[]): number {
  late.sort((a, b) => a - b);
  return late[Math.floor(late.length * 0.99)] ?? 0;
}

it(`createMemoryServer() leaves the host thread as free as an idle one while ${MEMORIES} memories are stored, embedded and searched`, async () => {
  await using project = await createTestProject({});
  await using provider = new InProcessToolProvider({
    servers: [createMemoryServer({ projectDir: project.projectDir })],
  });
  const call = async (tool: string, args: object) => {
    const { isError, content, structuredContent } = await provider.callTool(`memory.${tool}`, { ...args });
    if (isError) throw new Error(JSON.stringify(content));
    return structuredContent as { mode: string };
  };
  await call('store', { content: 'the first call starts the thread', category: 'bug' });
  await call('retrieve', { query: 'threads' });

  const idle = new Worker(IDLE, { eval: true });
  const late: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    late.push(now - last);
    last = now;
  }, 1);
  let next = 0;
  const modes = new Set<string>();
  const lane = async (): Promise<void> => {
    while (next < MEMORIES) {
      const number = next++;
      await call('store', {
        content: `release ${number} of service ${number % 97} is deployed by tag`,
        category: 'bug',
      });
      if (number % 10 === 0) modes.add((await call('retrieve', { query: `how is service ${number} shipped` })).mode);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  clearInterval(timer);
  idle.postMessage('done');
  const idleLate = await new Promise<number[]>((resolve) => idle.once('message', resolve));
  await idle.terminate();

  expect([...modes].every((mode) => mode.startsWith('hybrid'))).toBe(true);
  expect(percentile99(late)).toBeLessThan(percentile99(idleLate) * 3 + 50);
}, 300_000);
