// The port to the MCP SDKs: what this package uses of one, in plain types. Only the files of this folder import an SDK.

import type { JsonObject } from '../../contract/json.js';
import type { McpTransport } from '../transport/transport.js';

/** The revisions of MCP: up to 2025-11-25, with `initialize` and sessions; or 2026-07-28, which is stateless. */
export type Era = 'legacy' | 'modern';

/** The first revision of the modern era. */
export const MODERN_VERSION = '2026-07-28';

/** The SDK that a provider uses: `'v1'` is `@modelcontextprotocol/sdk`, `'v2'` is `@modelcontextprotocol/client`. */
export type EngineName = 'v1' | 'v2';

/** How an engine's client is connected. */
export interface EngineClientOptions {
  clientInfo: { name: string; version: string };
  /** The client capabilities that are declared to the server. */
  capabilities: JsonObject;
  /** The legacy era begins with `initialize`, the modern one without a handshake. */
  era: Era;
  /** Answers a request of the server; an error that it throws is sent as the response. */
  onRequest: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Called once when the transport has closed. */
  onClosed: () => void;
}

/** A connected client. */
export interface EngineClient {
  /**
   * Sends a request, synchronously up to the transport's `send`. The result is returned unparsed.
   *
   * @param headers added to the HTTP request; other transports ignore them
   */
  request(method: string, params: JsonObject, headers?: Readonly<Record<string, string>>): Promise<unknown>;
}

/** Where and how an HTTP transport sends. */
export interface EngineHttpOptions {
  url: URL;
  headers: Readonly<Record<string, string>>;
  fetch: (input: string | URL, init?: RequestInit) => Promise<Response>;
}

/** An engine's HTTP transport. */
export interface EngineHttpTransport extends McpTransport {
  /** Ends the session at the server; rejects when the server cannot be reached. Absent where there are no sessions. */
  terminateSession?: () => Promise<void>;
}

/** The credentials of one sign-in, in the shapes of OAuth's documents. */
export interface EngineOAuthProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: JsonObject;
  readonly clientMetadataUrl: string | undefined;
  state(): string;
  clientInformation(): JsonObject | undefined;
  saveClientInformation(information: JsonObject): Promise<void>;
  tokens(): JsonObject | undefined;
  saveTokens(tokens: JsonObject): Promise<void>;
  redirectToAuthorization(url: URL): void;
  saveCodeVerifier(verifier: string): void;
  codeVerifier(): string;
  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void>;
  discoveryState(): JsonObject | undefined;
  saveDiscoveryState(state: JsonObject): void;
}

/** A run of the OAuth flow. */
export interface EngineOAuthRun {
  serverUrl: URL;
  /** The server's 401 response, which may name its metadata and a scope. */
  refusal: Response;
  fetchFn: (input: string | URL, init?: RequestInit) => Promise<Response>;
  /** The scope to request instead of the one that the response names. */
  scope?: string | undefined;
  /** The answer of the sign-in: its code, and the issuer if the authorization server states it. */
  answer?: { code: string; issuer?: string | undefined } | undefined;
}

/** An SDK of MCP. */
export interface Engine {
  readonly name: EngineName;
  /** True if it has the modern era, MCP 2026-07-28. */
  readonly hasModernEra: boolean;
  /** Starts the transport and performs the handshake of the era, if that has one. */
  connect(transport: McpTransport, options: EngineClientOptions): Promise<EngineClient>;
  streamableHttp(options: EngineHttpOptions): EngineHttpTransport;
  sse(options: EngineHttpOptions): EngineHttpTransport;
  /** Runs the OAuth flow; `'REDIRECT'` means that a person must sign in first. */
  authorize(provider: EngineOAuthProvider, run: EngineOAuthRun): Promise<'AUTHORIZED' | 'REDIRECT'>;
}
