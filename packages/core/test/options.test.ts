import { defineServer, defineTool, InProcessToolProvider, ToolError, ToolHub } from '@toolwright/core';
import { runTool } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const tool = { name: 't', description: 'A tool.', execute: () => 'done' };
const server = defineServer({ name: 's', version: '1', tools: [defineTool(tool)] });

function faultOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    expect(ToolError.isInstance(error) && error.code).toBe('INVALID_ARGUMENT');
    return (error as Error).message;
  }
  throw new Error('It was accepted.');
}

describe('unknown options', () => {
  it.each<[string, () => unknown, string]>([
    ['inputSchema', () => defineTool({ ...tool, inputSchema: {} } as never), 'did you mean `input`?'],
    ['parameters', () => defineTool({ ...tool, parameters: {} } as never), 'did you mean `input`?'],
    ['handler', () => defineTool({ ...tool, handler: tool.execute } as never), 'did you mean `execute`?'],
    ['a raw zod shape', () => defineTool({ ...tool, input: { a: z.string() } as never }), 'z.object({ … })'],
    ['toolz', () => defineServer({ name: 's', version: '1', toolz: [] } as never), 'did you mean `tools`?'],
    ['one tool for all', () => defineServer({ name: 's', version: '1', tools: defineTool(tool) as never }), 'array'],
    ['provider of a hub', () => new ToolHub({ provider: [] } as never), 'did you mean `providers`?'],
    ['pins', () => new ToolHub({ pins: {} } as never), 'unknown option `pins`'],
    ['pinned', () => new ToolHub({ providers: [{ provider: null, pinned: true } as never] }), '`pinned`'],
    ['limits.maxTextByte', () => new ToolHub({ limits: { maxTextByte: 1 } as never }), '`limits.maxTextBytes`'],
    [
      'policy.aprove',
      () => new ToolHub({ policy: { rules: [], default: 'ask', aprove: 1 } as never }),
      '`policy.approve`',
    ],
    ['providers for options', () => new ToolHub([] as never), 'not an array'],
    ['a server for a provider', () => new ToolHub({ providers: [server as never] }), 'servers: [server]'],
    ['server', () => new InProcessToolProvider({ server: [server] } as never), 'did you mean `servers`?'],
    ['servers for options', () => new InProcessToolProvider([server] as never), 'not an array'],
    ['one server for all', () => new InProcessToolProvider({ servers: server as never }), 'an array of servers'],
    [
      'a tool for a server',
      () => new InProcessToolProvider({ servers: [defineTool(tool) as never] }),
      'defineServer()',
    ],
  ])('are refused: %s', (_what, make, words) => {
    expect(faultOf(make)).toContain(words);
  });

  it('are named with all other faults of a definition', () => {
    const message = faultOf(() => defineTool({ name: 'a b', handler: 1, description: '' } as never));
    for (const words of ['handler', 'name must be', 'description must', 'execute must'])
      expect(message).toContain(words);
  });
});

describe('runTool()', () => {
  it.each<[string, number | boolean | unknown[]]>([
    ['a number', 3],
    ['a boolean', false],
    ['an array', ['a', 1]],
    ['an empty array', []],
  ])('wraps %s as { result }', async (_what, result) => {
    const given = await runTool(defineTool({ ...tool, execute: () => result }), {});
    expect(given).toMatchObject({ isError: false, structuredContent: { result } });
  });
});
