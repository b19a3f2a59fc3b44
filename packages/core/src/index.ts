/**
 * The contract `ToolProvider`, tools in this process, and the hub that makes many providers one. An engine lists the
 * tools to its model and calls them through one object.
 *
 * @example
 * ```ts
 * import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';
 *
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Add two numbers.',
 *   input: {
 *     type: 'object',
 *     properties: { a: { type: 'number' }, b: { type: 'number' } },
 *     required: ['a', 'b'],
 *   },
 *   execute: ({ a, b }) => ({ sum: a + b }),
 * });
 *
 * await using hub = new ToolHub({
 *   providers: [new InProcessToolProvider({ servers: [defineServer({ name: 'math', version: '1.0.0', tools: [add] })] })],
 * });
 * const result = await hub.callTool('math.add', { a: 1, b: 2 }); // never rejects: check isError
 * console.log(result.structuredContent); // { sum: 3 }
 * ```
 * @module
 */

import { assertNodeVersion } from './node-version.js';

// For engines and authors of tools.
export {
  InProcessToolProvider,
  type InProcessToolProviderOptions,
  type ProjectProviderOptions,
} from './provider/in-process-provider.js';

export type { EventOptions, HubEvent, HubEventType } from './hub/events.js';
export { ToolHub, type ListOptions } from './hub/hub.js';
export type { HubLimits, HubOptions } from './hub/hub-options.js';
export type { ProviderStatus } from './hub/member.js';
export type { ProviderEntry } from './hub/provider-entry.js';
export type { DeclarationOptions } from './hub/declarations/declarations.js';
export { deferredTools, type DeferredToolsOptions } from './hub/deferred-tools.js';
export type { SearchOptions } from './hub/search/search.js';
export type { FoundTool } from './hub/search/tool-search.js';
export type { Explanation } from './hub/explain.js';
export { estimateTokens } from './hub/token-estimate.js';
export { withCache, type CacheMiddleware, type CacheOptions } from './hub/middleware/cache.js';
export { withDuplicateGuard, type DuplicateGuardOptions } from './hub/middleware/duplicate-guard.js';
export { withMetrics, type MetricsOptions } from './hub/middleware/metrics.js';
export type { Middleware, MiddlewareCall, SettledCall } from './hub/middleware/middleware.js';
export { withRecording, type RecordingMiddleware, type RecordingOptions } from './hub/middleware/recording.js';
export { withRetry, type Retry, type RetryOptions } from './hub/middleware/retry.js';
export { withTracing, type TracingOptions } from './hub/middleware/tracing.js';
export type { PolicyEvents } from './hub/policy/policy-gate.js';
export type { Policy, PolicyDecision } from './hub/policy/policy.js';
export type { Pin, PinApproval, Pins, PinStore, ProviderPins, QuarantinedTool } from './hub/pins.js';
export type { Approval, ApprovalContext, ApprovalRequest, PolicyAction, PolicyRule } from './contract/approval.js';
export { approveInTerminal, type TerminalOptions } from './hub/policy/approve-in-terminal.js';
export { defineTool, type Tool, type ToolContext, type ToolOptions, type ToolReturn } from './tool/define-tool.js';
export type { CompiledSchema } from './tool/schema.js';
export { defineServer, ToolServer, type ServerContext, type ToolServerOptions } from './tool/define-server.js';
export type { FromJsonSchema, SchemaInput, SchemaOutput, ToolSchema } from './tool/infer-schema.js';
export { callTyped, type CallTypedOptions } from './provider/call-typed.js';
export {
  processDirectives,
  type Directive,
  type DirectiveHandlers,
  type DirectiveOutcome,
  type DirectiveParams,
  type InjectedMessage,
} from './contract/directives.js';

export {
  TOOL_ERROR_CODES,
  ToolError,
  type ToolErrorCode,
  type ToolErrorInfo,
  type ToolErrorOptions,
} from './contract/errors.js';

export {
  textOf,
  type ContentBlock,
  type EmbeddedResource,
  type MediaContent,
  type ResourceContents,
  type ResourceLink,
  type TextContent,
  type ToolOutput,
  type ToolResult,
} from './contract/result.js';

export type { JsonObject, JsonSchema, JsonValue } from './contract/json.js';
export type { LogEntry, Logger } from './contract/logger.js';

// For implementers of providers.
export type {
  CallOptions,
  InputAnswer,
  InputRelay,
  InputRound,
  McpPeer,
  PeerRequestHandler,
  PreparedCall,
  ProviderEvent,
  PreparedVerdict,
  Progress,
  ProviderHealth,
  ProviderState,
  ToolProvider,
} from './contract/tool-provider.js';

export type { PermissionClaim } from './contract/claims.js';
export type { ToolAnnotations, ToolDefinition, ToolIcon } from './contract/tool-definition.js';

assertNodeVersion();
