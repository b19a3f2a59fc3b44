import { expect, it, onTestFinished } from 'vitest';
import { ToolHub } from '../src/index.js';
import { MCPToolProvider } from '../src/mcp/index.js';

it('ToolHub emits one process warning when a provider cannot start and there is no logger', async () => {
  const warnings: Error[] = [];
  const listener = (warning: Error): void => void warnings.push(warning);
  process.on('warning', listener);
  onTestFinished(() => void process.off('warning', listener));
  const provider = new MCPToolProvider({ name: 'gone', command: '/nonexistent/program' });
  const hub = new ToolHub({ providers: [provider] });
  onTestFinished(() => hub.disconnect());
  await hub.connect();
  expect(await hub.listTools()).toEqual([]);
  await provider.connect().catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve)); // warnings are emitted in the next tick
  const about = warnings.filter(({ message }) => message.includes('"gone"'));
  expect(about.length).toBeGreaterThan(0);
  expect(new Set(about.map(({ name }) => name))).toEqual(new Set(['ToolwrightWarning']));
  expect(new Set(about.map(({ message }) => message)).size).toBe(about.length);
});
