// What carries MCP's messages to a server and back: our own interface, which every transport of the SDK has too.

import type { ToolError } from '../../contract/errors.js';

/**
 * A connection that carries JSON-RPC messages. The shape is that of the MCP SDK's transports, so that any of them can be
 * given; no type of the SDK is needed to write one.
 */
export interface McpTransport {
  /** Opens the connection, after the callbacks below were set. */
  start(): Promise<void>;
  /** Sends one message. Rejects when it could not be sent. */
  send(message: McpMessage, options?: object): Promise<void>;
  /** Closes the connection and calls `onclose`. */
  close(): Promise<void>;
  /** Called when the connection has closed, for whatever reason. */
  onclose?: (() => void) | undefined;
  /** Called with what went wrong and did not end the connection. */
  onerror?: ((error: Error) => void) | undefined;
  /** Called with each message of the server. */
  onmessage?: Receiver['receive'] | undefined;
  /** Of a session that exists already: then nothing is negotiated. */
  sessionId?: string | undefined;
  /** Told of the negotiated revision of the protocol. */
  setProtocolVersion?: ((version: string) => void) | undefined;
}

/** One JSON-RPC message, as it was parsed. */
export type McpMessage = object;

/** A method's parameters are compared in both directions, which lets the SDK's generic callback fit. */
interface Receiver {
  receive(message: McpMessage, extra?: object): void;
}

/** A transport of ours: it can say why it closed, which is then told to whoever waited. */
export interface LinkTransport extends McpTransport {
  /** Why it is closed, or undefined where it was closed from here. */
  readonly failure?: ToolError | undefined;
  /** More words on why nothing was answered: what the server wrote to stderr. */
  readonly remarks?: string | undefined;
  /** What it has said in confidence to the server besides what it was given, such as tokens that it was issued. */
  secrets?(): readonly string[];
}

/** What may wait for a server that does not read. */
export const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** What a message that waits costs beside its own bytes, about. */
export const MESSAGE_BYTES = 1024;
