// @toolwright/runtime/provider: all that a provider file imports. Loads neither the host's side nor a schema library.

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
