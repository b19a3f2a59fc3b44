// The engine on @modelcontextprotocol/sdk, which has the legacy era only.

import { auth, extractWWWAuthenticateParams, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Engine } from './engine.js';

/** The longest time of a Node timer: the callers enforce deadlines. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Accepts any result: it was checked before it reached the SDK. */
const ANY_RESULT = { safeParse: (data: unknown) => ({ success: true, data }) } as never;
const NO_VALIDATOR = {
  getValidator: () => (input: unknown) => ({ valid: true, data: input, errorMessage: undefined }),
} as never;

export function createEngine(): Engine {
  return {
    name: 'v1',
    hasModernEra: false,
    async connect(transport, { clientInfo, capabilities, onRequest, onClosed }) {
      const client = new Client(clientInfo, { capabilities, jsonSchemaValidator: NO_VALIDATOR });
      client.onclose = onClosed;
      client.onerror = () => undefined; // errors that matter fail a request or end the session
      client.fallbackRequestHandler = ({ method, params }, { signal }) => onRequest(method, params ?? {}, signal);
      await client.connect(transport, { timeout: NO_TIMEOUT_MS });
      const options = { timeout: NO_TIMEOUT_MS, onprogress: () => undefined }; // makes the SDK send a progress token
      return { request: (method, params) => client.request({ method, params }, ANY_RESULT, options) };
    },
    streamableHttp: ({ url, headers, fetch }) =>
      new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers } }),
    sse: ({ url, headers, fetch }) => new SSEClientTransport(url, { fetch, requestInit: { headers } }),
    authorize(provider, { serverUrl, refusal, fetchFn, answer, scope: wanted }) {
      const { resourceMetadataUrl, scope = wanted } = extractWWWAuthenticateParams(refusal);
      return auth(provider as unknown as OAuthClientProvider, {
        serverUrl,
        fetchFn,
        ...(resourceMetadataUrl && { resourceMetadataUrl }),
        ...(scope !== undefined && { scope: wanted ?? scope }),
        ...(answer && { authorizationCode: answer.code }),
      });
    },
  };
}
