// The server that the contract suite calls: small tools, each for one part of the contract.

import { setTimeout as sleep } from 'node:timers/promises';
import { defineServer, type ToolServer } from '../tool/define-server.js';
import { defineTool, type ToolContext } from '../tool/define-tool.js';

/** What the tools of {@link contractServer} count, per connection. */
export interface ContractState {
  /** Calls of `count`. */
  executions: number;
  /** Calls of `wait` that were aborted. */
  aborts: number;
}

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const STEPS = 10;

/**
 * Creates the server `contract`, with the tools that {@link toolProviderContract} calls:
 *
 * `echo {text}`, `add {a, b}`, `fail {kind}`, `wait {ms}` (reports progress ten times, counts an abort), `big {bytes}`,
 * `bad_output`, `directive`, `count` (counts its calls) and `grow` (adds a tool).
 */
export function contractServer(): ToolServer<ContractState> {
  let grown = 0;
  const server: ToolServer<ContractState> = defineServer<ContractState>({
    name: 'contract',
    version: '1.0.0',
    start: () => ({ executions: 0, aborts: 0 }),
    tools: [
      defineTool({
        name: 'echo',
        description: 'Returns the text.',
        input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        output: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        annotations: READ_ONLY,
        execute: ({ text }) => ({ text }),
      }),
      defineTool({
        name: 'add',
        description: 'Adds two numbers.',
        input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
        output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
        annotations: READ_ONLY,
        execute: ({ a, b }) => ({ sum: a + b }),
      }),
      defineTool({
        name: 'fail',
        description: 'Throws an Error, a string or undefined, as `kind` says.',
        input: { type: 'object', properties: { kind: { enum: ['error', 'string', 'undefined'] } }, required: ['kind'] },
        annotations: READ_ONLY,
        execute: ({ kind }) => {
          if (kind === 'error') throw new Error('the contract wanted an error');
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- the purpose of the tool
          throw kind === 'string' ? 'the contract wanted a string' : undefined;
        },
      }),
      defineTool({
        name: 'wait',
        description: 'Waits, and reports progress after each tenth of the time.',
        input: { type: 'object', properties: { ms: { type: 'number', minimum: 0 } }, required: ['ms'] },
        annotations: READ_ONLY,
        execute: async ({ ms }, ctx: ToolContext<ContractState>) => {
          for (let step = 1; step <= STEPS; step++) {
            try {
              await sleep(ms / STEPS, undefined, { signal: ctx.signal });
            } catch (error) {
              ctx.state.aborts++;
              throw error;
            }
            ctx.progress({ progress: step, total: STEPS, message: `step ${step}` });
          }
          return `waited ${ms} ms`;
        },
      }),
      defineTool({
        name: 'big',
        description: 'Returns a text of this many bytes.',
        input: { type: 'object', properties: { bytes: { type: 'integer', minimum: 0 } }, required: ['bytes'] },
        annotations: READ_ONLY,
        execute: ({ bytes }) => 'x'.repeat(bytes),
      }),
      defineTool({
        name: 'bad_output',
        description: 'Returns an output that does not match its schema.',
        output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        annotations: READ_ONLY,
        execute: () => ({ n: 'not a number' as unknown as number }),
      }),
      defineTool({
        name: 'directive',
        description: 'Returns a text and a directive.',
        annotations: READ_ONLY,
        execute: () => ({
          content: [{ type: 'text' as const, text: 'see the directive' }],
          directives: [{ type: 'inject_context' as const, params: { content: 'from the contract' } }],
        }),
      }),
      defineTool({
        name: 'count',
        description: 'Returns how often it ran, including this call, and how many calls of wait were aborted.',
        output: {
          type: 'object',
          properties: { executions: { type: 'integer' }, aborts: { type: 'integer' } },
          required: ['executions', 'aborts'],
        },
        annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
        execute: (_args, { state }: ToolContext<ContractState>) => ({
          executions: ++state.executions,
          aborts: state.aborts,
        }),
      }),
      defineTool({
        name: 'grow',
        description: 'Adds a tool to the server and returns its name.',
        output: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
        execute: () => {
          const name = `grown_${++grown}`;
          server.addTool(
            defineTool({
              name,
              description: 'Returns its name. Added by grow.',
              annotations: READ_ONLY,
              execute: () => `I am ${name}`,
            }),
          );
          return { name };
        },
      }),
    ],
  });
  return server;
}
