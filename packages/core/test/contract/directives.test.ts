import { defineServer, defineTool, InProcessToolProvider, processDirectives, type Directive } from '@toolwright/core';
import { describe, expect, it, vi } from 'vitest';

describe('processDirectives()', () => {
  it('runs handlers in order, each awaited', async () => {
    const order: string[] = [];
    const directives: Directive[] = [
      { type: 'tier_change', params: { tier: 'big' } },
      { type: 'stop_processing', params: {} },
    ];
    await processDirectives(directives, {
      tier_change: async ({ tier }) => {
        await Promise.resolve();
        order.push(tier);
      },
      stop_processing: () => void order.push('stop'),
    });
    expect(order).toEqual(['big', 'stop']);
  });

  it('computes the outcome without any handler', async () => {
    const outcome = await processDirectives([
      { type: 'stop_processing', params: {} },
      { type: 'tier_change', params: { tier: 'small' } },
      { type: 'inject_context', params: { content: 'a' } },
      { type: 'inject_context', params: { content: 'b', role: 'system' } },
    ]);
    expect(outcome).toEqual({
      stopProcessing: true,
      tierChanged: true,
      injectedMessages: [
        { role: 'user', content: 'a' },
        { role: 'system', content: 'b' },
      ],
    });
  });

  it('passes defaults to handlers, and does not change the directive', async () => {
    const directives: Directive[] = [
      { type: 'inject_context', params: { content: 'a' } },
      { type: 'prune_messages', params: {} },
    ];
    const seen: unknown[] = [];
    const keep = (params: unknown) => void seen.push(params);
    await processDirectives(directives, { inject_context: keep, prune_messages: keep });
    expect(seen).toEqual([{ content: 'a', role: 'user' }, { keep_recent: 2 }]);
    expect(directives.map(({ params }) => params)).toEqual([{ content: 'a' }, {}]);
  });

  it('skips an unknown type with a warning, even a name from Object.prototype', async () => {
    const warn = vi.fn();
    const outcome = await processDirectives(
      [{ type: 'toString', params: {} } as never, { type: 'later', params: {} } as never],
      {},
      { warn },
    );
    expect(warn).toHaveBeenCalledTimes(2);
    expect(outcome.stopProcessing).toBe(false);
  });

  it('receives the objects that the tool returned', async () => {
    const directive: Directive = { type: 'notify_presenter', params: { key: 'k', data: { deep: [1] } } };
    const tool = defineTool({
      name: 'say',
      description: 'Says.',
      execute: () => ({ content: [], directives: [directive] }),
    });
    await using provider = new InProcessToolProvider({
      servers: [defineServer({ name: 's', version: '1', tools: [tool] })],
    });
    const { directives } = await provider.callTool('s.say');
    expect(directives[0]).toBe(directive);
  });
});
