// The registry's tools over a hub with a supervised provider and a policy.

import { defineServer, defineTool, InProcessToolProvider, ToolHub, type PolicyRule } from '@toolwright/core';
import { createRegistryServer, supervise } from '@toolwright/runtime';
import { describe, expect, it } from 'vitest';
import { Script } from './scripted-provider.js';

function make(rules?: PolicyRule[]): { script: Script; hub: ToolHub } {
  const script = new Script();
  const hub = new ToolHub({
    providers: [supervise(script.create)],
    ...(rules && { policy: { default: 'deny', rules } }),
  });
  const greet = defineTool({ name: 'greet', description: 'Greets.', execute: () => 'hello' });
  const servers = [createRegistryServer(hub), defineServer({ name: 'own', version: '1.0.0', tools: [greet] })];
  void hub.add(new InProcessToolProvider({ name: 'operator', servers }));
  return { script, hub };
}

describe('createRegistryServer()', () => {
  it('lists providers and tools, and gives details and health', async () => {
    const { hub } = make();
    await hub.connect();
    const { structuredContent: listed } = await hub.callTool('registry.list');
    expect(listed?.providers).toMatchObject([
      { name: 'made', kind: 'process', state: 'READY', servers: ['made'], toolCount: 3 },
      { name: 'operator', kind: 'in-process', servers: ['registry', 'own'] },
    ]);
    const { structuredContent: tools } = await hub.callTool('registry.tools', { provider: 'made' });
    expect(tools?.tools).toEqual([
      { name: 'made.write', description: expect.any(String) },
      { name: 'made.read', description: expect.any(String) },
      { name: 'made.put', description: expect.any(String) },
    ]);
    const { structuredContent: details } = await hub.callTool('registry.details', { tool: 'made.read' });
    expect(details).toMatchObject({ tool: { name: 'made.read', inputSchema: {} }, explanation: { provider: 'made' } });
    await hub.callTool('made.read');
    const { structuredContent: health } = await hub.callTool('registry.health', { provider: 'made' });
    expect(health?.providers).toMatchObject([{ name: 'made', state: 'READY', totalInvocations: 1, restarts: 0 }]);
    await hub.disconnect();
  });

  it('stops and starts a provider, and does not stop its own', async () => {
    const { script, hub } = make();
    await hub.connect();
    const stopped = await hub.callTool('registry.stop', { provider: 'made' });
    expect(stopped.structuredContent).toEqual({ provider: 'made', state: 'COLD' });
    expect((await hub.callTool('made.read')).error?.code).toBe('NOT_CONNECTED');
    const started = await hub.callTool('registry.start', { provider: 'made' });
    expect(started.structuredContent).toEqual({ provider: 'made', state: 'READY' });
    expect((await hub.callTool('made.read')).isError).toBe(false);
    expect(script.connects).toBe(2);
    expect((await hub.callTool('registry.stop', { provider: 'operator' })).error?.code).toBe('INVALID_ARGUMENT');
    expect((await hub.callTool('registry.stop', { provider: 'nobody' })).error).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('made, operator'),
    });
    await hub.disconnect();
  });

  it('invokes a tool through the hub, whose policy also evaluates that tool', async () => {
    const { script, hub } = make([
      { tool: 'registry.*', action: 'allow' },
      { tool: 'made.read', action: 'allow' },
    ]);
    const seen: unknown[] = [];
    script.call = (call) => {
      seen.push([call.name, call.args]);
      call.settle({ content: [{ type: 'text', text: 'read' }], isError: false, directives: [], durationMs: 0 });
    };
    const result = await hub.callTool('registry.invoke', { tool: 'made.read', arguments: { path: 'a' } });
    expect(result.content).toEqual([{ type: 'text', text: 'read' }]);
    expect((await hub.callTool('registry.invoke', { tool: 'made.write' })).error?.code).toBe('PERMISSION_DENIED');
    expect(seen).toEqual([['made.read', { path: 'a' }]]);
    await hub.disconnect();
  });

  it.each([
    ['registry.invoke', 'INVALID_ARGUMENT'],
    ['registry.stop', 'INVALID_ARGUMENT'],
    ['invoke', 'TOOL_NOT_FOUND'],
    ['greet', 'TOOL_NOT_FOUND'],
    ['made.hidden', 'TOOL_NOT_FOUND'],
    ['', 'TOOL_NOT_FOUND'],
  ])('refuses to invoke %j with %s', async (tool, code) => {
    const { script, hub } = make();
    await hub.connect();
    expect((await hub.callTool('registry.invoke', { tool, arguments: { tool: 'made.read' } })).error?.code).toBe(code);
    expect(script.latest.calls.size).toBe(0);
    await hub.disconnect();
  });

  it('refuses what is not a hub', () => {
    expect(() => createRegistryServer(undefined as never)).toThrow('createRegistryServer() takes a ToolHub');
  });

  it('asks the caller of invoke, and pauses its deadline meanwhile', async () => {
    const { hub } = make([
      { tool: 'registry.*', action: 'allow' },
      { tool: 'made.*', action: 'ask' },
    ]);
    const asked: string[] = [];
    const approve = async ({ tool }: { tool: string }): Promise<{ decision: 'once' }> => {
      asked.push(tool);
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { decision: 'once' };
    };
    const options = { approve, timeoutMs: 200 };
    const { error } = await hub.callTool('registry.invoke', { tool: 'made.read' }, options);
    expect(error).toBeUndefined();
    expect(asked).toEqual(['made.read']);
    await hub.disconnect();
  });

  it('ends what it invoked when its own call is cancelled', async () => {
    const { script, hub } = make();
    await hub.connect();
    const abort = new AbortController();
    let signal: AbortSignal | undefined;
    script.call = (call) => {
      signal = call.options?.signal;
      abort.abort();
    };
    const result = await hub.callTool('registry.invoke', { tool: 'made.write' }, { signal: abort.signal });
    expect(result.error?.code).toBe('CANCELLED');
    expect(signal?.aborted).toBe(true);
    await hub.disconnect();
  });
});
