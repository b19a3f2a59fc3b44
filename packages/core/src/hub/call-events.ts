// The events of one call in a hub's event stream. Called only while someone listens.

import type { CallScope } from '../call/call-scope.js';
import { redactedText } from '../contract/redacted-text.js';
import type { ToolResult } from '../contract/result.js';
import type { PreparedCall } from '../contract/tool-provider.js';
import type { EventFields, EventStream } from './events.js';

/** The longest name of a tool in an event, in characters. */
const MAX_NAME = 256;

/** Reports that a call arrived, and from now on its progress and log entries. Returns true. */
export function reportQueued(events: EventStream, tool: string, scope: CallScope): true {
  const about = fieldsOf(tool, undefined, scope);
  events.emit('call.queued', about);
  scope.observe({
    onProgress: ({ progress, total, message }) =>
      events.emit('call.progress', {
        ...about,
        data: { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) },
      }),
    onLog: ({ level, message }) => events.emit('call.log', { ...about, data: { level, message } }),
  });
  return true;
}

/** Reports that a call is validated: its claims, and on request its arguments. */
export function reportPrepared(events: EventStream, provider: string, prepared: PreparedCall, scope: CallScope): void {
  const claims = prepared.claims.map(({ pattern, understood }) => ({ pattern, understood }));
  const about = fieldsOf(prepared.tool.name, provider, scope);
  events.emit('call.prepared', { ...about, data: { claims } }, () => ({ args: prepared.args }));
}

/** Reports that the provider runs the call. */
export function reportStarted(events: EventStream, provider: string, prepared: PreparedCall, scope: CallScope): void {
  const waitedMs = performance.now() - scope.startedAt;
  events.emit('call.started', { ...fieldsOf(prepared.tool.name, provider, scope), data: { waitedMs } });
}

/** Reports the outcome of a call, and on request its result. */
export function reportSettled(
  events: EventStream,
  tool: string,
  provider: string | undefined,
  scope: CallScope,
  result: ToolResult,
): void {
  const { isError, error, durationMs, content, structuredContent } = result;
  const data = {
    isError,
    ...(error && { code: error.code, message: error.message }),
    durationMs,
    characters: content.reduce((sum, block) => sum + sizeOf(block), 0),
  };
  events.emit('call.settled', { ...fieldsOf(tool, provider, scope), data }, () => ({
    result: { content: content.map((block) => ({ ...block })), ...(structuredContent && { structuredContent }) },
  }));
}

function fieldsOf(tool: string, provider: string | undefined, scope: CallScope): EventFields {
  const { callId, parentCallId, sessionId } = scope;
  return {
    callId,
    ...(parentCallId !== undefined && { parentCallId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(provider !== undefined && { provider }),
    tool: shownName(tool),
  };
}

/** The name of an unknown tool is the caller's text. In JavaScript it may be anything. */
function shownName(name: unknown): string {
  if (typeof name !== 'string') return `(${typeof name})`;
  return redactedText(name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);
}

function sizeOf(block: ToolResult['content'][number]): number {
  if (block.type === 'text') return block.text.length;
  if (block.type === 'resource_link') return block.uri.length;
  return block.type === 'resource'
    ? (block.resource.text?.length ?? block.resource.blob?.length ?? 0)
    : block.data.length;
}
