// What the compiler infers. The type check tests it; running only shows that the file loads.

import {
  callTyped,
  defineServer,
  defineTool,
  InProcessToolProvider,
  type DirectiveParams,
  type Tool,
  type ToolContext,
} from '@toolwright/core';
import { runTool } from '@toolwright/core/testing';
import { expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';

declare module '@toolwright/core' {
  interface DirectiveParams {
    play_sound: { file: string };
  }
}

const provider = new InProcessToolProvider({ servers: [] });

it('defineTool() infers arguments and output of zod 4', () => {
  const tool = defineTool({
    name: 'a',
    description: 'A.',
    input: z.object({
      n: z.number().default(1),
      list: z.array(z.string()).optional(),
      when: z.string().transform((text) => text.length),
    }),
    output: z.object({ sum: z.number() }),
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ n: number; list?: string[] | undefined; when: number }>();
      return { sum: args.n };
    },
  });
  expectTypeOf(tool).toExtend<
    Tool<{ n?: number | undefined; list?: string[] | undefined; when: string }, { sum: number }>
  >();
  expectTypeOf(() => callTyped(provider, tool, { when: 'x' })).returns.resolves.toEqualTypeOf<{ sum: number }>();
});

it('defineTool() infers arguments and output of zod 3', () => {
  const tool = defineTool({
    name: 'a',
    description: 'A.',
    input: z3.object({ n: z3.number().default(1), kind: z3.enum(['x', 'y']) }),
    output: z3.object({ ok: z3.boolean() }),
    execute: ({ n, kind }) => {
      expectTypeOf(n).toEqualTypeOf<number>();
      expectTypeOf(kind).toEqualTypeOf<'x' | 'y'>();
      return { ok: true };
    },
  });
  expectTypeOf(() => callTyped(provider, tool, { kind: 'x' })).returns.resolves.toEqualTypeOf<{ ok: boolean }>();
});

it('defineTool() infers arguments and output of a literal JSON Schema', () => {
  const tool = defineTool({
    name: 'a',
    description: 'A.',
    input: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        limit: { type: 'integer', default: 10 },
        mode: { enum: ['fast', 'slow'] },
        edits: {
          type: 'array',
          items: {
            type: 'object',
            properties: { from: { type: 'string' }, all: { type: 'boolean' } },
            required: ['from'],
          },
        },
        maybe: { type: ['string', 'null'] },
        either: { anyOf: [{ type: 'number' }, { const: 'all' }] },
        map: { type: 'object', additionalProperties: { type: 'number' } },
        what: {},
      },
      required: ['path'],
    },
    output: {
      type: 'object',
      properties: { lines: { type: 'array', items: { type: 'string' } } },
      required: ['lines'],
    },
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<{
        path: string;
        limit: number;
        mode?: 'fast' | 'slow';
        edits?: { from: string; all?: boolean }[];
        maybe?: string | null;
        either?: number | 'all';
        map?: Record<string, number>;
        what?: unknown;
      }>();
      return { lines: [] };
    },
  });
  expectTypeOf(() => callTyped(provider, tool, { path: 'x' })).returns.resolves.toEqualTypeOf<{ lines: string[] }>();
  // @ts-expect-error -- path is required
  void (() => callTyped(provider, tool, { limit: 1 }));
});

it('defineTool() infers no arguments and an untyped output without schemas', () => {
  const tool = defineTool({ name: 'a', description: 'A.', execute: () => 'text' });
  expectTypeOf(() => callTyped(provider, tool, {})).returns.resolves.toEqualTypeOf<Record<string, unknown> | string>();
});

it(`defineTool() rejects an output that does not match the schema's type`, () => {
  defineTool({
    name: 'a',
    description: 'A.',
    output: z.object({ sum: z.number() }),
    // @ts-expect-error -- sum is a number
    execute: () => ({ sum: 'three' }),
  });
});

it('defineServer() requires the state that its tools annotate', () => {
  interface Db {
    rows: string[];
  }
  const list = defineTool({
    name: 'list',
    description: 'L.',
    execute: (_args, { state }: ToolContext<Db>) => ({ rows: state.rows }),
  });
  defineServer<Db>({ name: 's', version: '1', tools: [list], start: () => ({ rows: [] }) });
  // @ts-expect-error -- start gives another state
  defineServer<{ other: number }>({ name: 's', version: '1', tools: [list], start: () => ({ other: 1 }) });
  expectTypeOf(() => runTool(list, {}, { state: { rows: [] } })).toBeFunction();
});

it('DirectiveParams can be extended by an engine', () => {
  expectTypeOf<DirectiveParams['play_sound']>().toEqualTypeOf<{ file: string }>();
});
