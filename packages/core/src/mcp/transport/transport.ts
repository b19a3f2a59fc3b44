// The interface of a transport for MCP messages; every transport of the SDK satisfies it.

import type { ToolError } from '../../contract/errors.js';

/**
 * A transport for JSON-RPC messages. The transports of the MCP SDK satisfy it; a custom transport needs no type of the SDK.
 */
export interface McpTransport {
  /** Opens the connection; called after the callbacks below were set. */
  start(): Promise<void>;
  /** Sends one message. Rejects when it could not be sent. */
  send(message: McpMessage, options?: object): Promise<void>;
  /** Closes the connection and calls `onclose`. */
  close(): Promise<void>;
  /** Called when the connection has closed, for any reason. */
  onclose?: (() => void) | undefined;
  /** Called with errors that do not close the connection. */
  onerror?: ((error: Error) => void) | undefined;
  /** Called with each message from the server. */
  onmessage?: Receiver['receive'] | undefined;
  /** The id of an existing session, which is then not initialized again. */
  sessionId?: string | undefined;
  /** Receives the negotiated protocol version. */
  setProtocolVersion?: ((version: string) => void) | undefined;
}

/** A parsed JSON-RPC message. */
export type McpMessage = object;

/** A method type, whose parameters are bivariant, so that the SDK's generic callback is assignable. */
interface Receiver {
  receive(message: McpMessage, extra?: object): void;
}

/** A built-in transport, which reports why it closed. */
export interface SessionTransport extends McpTransport {
  /** Why it closed; undefined if it was closed locally. */
  readonly failure?: ToolError | undefined;
  /** The end of the server's stderr as a sentence, for errors. */
  readonly stderrNote?: string | undefined;
  /** True if it sends headers with each request. */
  readonly usesHeaders?: boolean;
  /**
   * Stops waiting for a request without notifying the server. Absent where its response cannot be distinguished from
   * others.
   */
  abandon?(id: number): void;
  /** Secrets beyond the options, such as tokens that it was issued. */
  secrets?(): readonly string[];
}

/** The limit of unsent bytes for a server that does not read. */
export const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** The approximate overhead of an unsent message. */
export const MESSAGE_BYTES = 1024;
