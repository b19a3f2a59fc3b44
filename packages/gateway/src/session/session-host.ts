// What the clients of one gateway share.

import type { JsonObject, ToolProvider } from '@toolwright/core';
import type { ToolCatalog } from '../catalog.js';
import type { ForwardingClient } from '../forwarding/forwarding-client.js';
import type { Forwarding } from '../forwarding/forwarding.js';
import type { RequestStates } from './request-state.js';
import type { ToolCalls } from './tool-calls.js';

/** What the clients of one gateway share. */
export interface SessionHost {
  readonly provider: ToolProvider;
  readonly catalog: ToolCatalog;
  readonly calls: ToolCalls;
  readonly states: RequestStates;
  readonly forwarding: Forwarding | undefined;
  /** The open subscriptions of clients of MCP 2026-07-28, which get the changes that they ask for. */
  readonly listeners: Set<ForwardingClient>;
  readonly limits: {
    pageSize: number;
    approvalTimeoutMs: number;
    maxRequestsInFlight: number;
  };
  readonly version: string;
  readonly onError: (message: string) => void;
}

/** The deepest nesting of a request's parameters. */
export const MAX_DEPTH = 128;

/** The text for a client that has too many requests in flight. */
export function busyMessage(limit: number): string {
  return `This client has ${limit} requests in flight, the most allowed. Wait until one is answered.`;
}

/** What the gateway offers in both eras. */
export function commonCapabilities({ forwarding }: SessionHost): JsonObject {
  return {
    tools: { listChanged: true },
    logging: {},
    ...(forwarding && {
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      completions: {},
    }),
  };
}
