// The server that the contract suite calls: small tools, each for one promise of the contract.

import { setTimeout as sleep } from 'node:timers/promises';
import { defineServer, type ToolServer } from '../tool/define-server.js';
import { defineTool, type ToolContext } from '../tool/define-tool.js';

/** What the contract's tools count, of one connection. */
export interface ContractState {
  /** Calls of `count`. */
  executions: number;
  /** Calls of `wait` that were aborted. */
  aborts: number;
}

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const STEPS = 10;

/**
 * A server named `contract` with the tools that {@link toolProviderContract} calls. Each call makes a fresh one.
 *
 * `echo {text}`, `add {a, b}`, `fail {kind}`, `wait {ms}` (progress each tenth; an abort is counted), `big {bytes}`,
 * `bad_output`, `directive`, `count` (each call counts) and `grow` (adds a tool).
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
        description: 'Gives back the text.',
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
        description: 'Throws an Error, a string or undefined.',
        input: { type: 'object', properties: { kind: { enum: ['error', 'string', 'undefined'] } }, required: ['kind'] },
        annotations: READ_ONLY,
        execute: ({ kind }) => {
          if (kind === 'error') throw new Error('the contract wanted an error');
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- that is what the tool is for
          throw kind === 'string' ? 'the contract wanted a string' : undefined;
        },
      }),
      defineTool({
        name: 'wait',
        description: 'Waits, with progress each tenth of the time.',
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
        description: 'Gives a text of that many bytes.',
        input: { type: 'object', properties: { bytes: { type: 'integer', minimum: 0 } }, required: ['bytes'] },
        annotations: READ_ONLY,
        execute: ({ bytes }) => 'x'.repeat(bytes),
      }),
      defineTool({
        name: 'bad_output',
        description: 'Breaks its own output schema.',
        output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        annotations: READ_ONLY,
        execute: () => ({ n: 'not a number' as unknown as number }),
      }),
      defineTool({
        name: 'directive',
        description: 'Gives a directive beside its text.',
        annotations: READ_ONLY,
        execute: () => ({
          content: [{ type: 'text' as const, text: 'see the directive' }],
          directives: [{ type: 'inject_context' as const, params: { content: 'from the contract' } }],
        }),
      }),
      defineTool({
        name: 'count',
        description: 'Counts its own executions, this one included, and the aborts of wait.',
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
        description: 'Adds a tool to the server and gives its name.',
        output: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
        execute: () => {
          const name = `grown_${++grown}`;
          server.addTool(
            defineTool({
              name,
              description: 'Was added by grow.',
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
