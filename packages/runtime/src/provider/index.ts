/**
 * What a provider file imports. Loads neither the host's side nor a schema library.
 *
 * @example
 * ```ts
 * import { createProvider, defineTool, startProvider } from '@toolwright/runtime/provider';
 * import { z } from 'zod';
 *
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Add two numbers.',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   output: z.object({ sum: z.number() }),
 *   annotations: { readOnlyHint: true, openWorldHint: false },
 *   execute: ({ a, b }) => ({ sum: a + b }),
 * });
 *
 * const provider = createProvider({
 *   name: 'calculator',
 *   version: '1.0.0',
 *   description: 'Arithmetic.',
 *   tools: [add],
 * });
 *
 * export default provider;
 * startProvider(provider); // serves the host that started this file; does nothing without one
 * ```
 * @module
 */

export { defineTool, defineTool as createTool, ToolError } from '@toolwright/core/internal';
export {
  createProvider,
  Provider,
  type AnyProvider,
  type DisposeContext,
  type InitializeContext,
  type ProviderOptions,
  type SessionContext,
} from './provider.js';
export { startProvider } from './start-provider.js';
export type { InitializeReason, ProviderSettings } from '../wire/protocol.js';
export type { ToolContext } from '@toolwright/core';
