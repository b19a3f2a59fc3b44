// The engine on @modelcontextprotocol/client, which has both eras.

import {
  auth,
  Client,
  extractWWWAuthenticateParams,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type OAuthClientProvider,
  type PriorDiscovery,
} from '@modelcontextprotocol/client';
import type { McpMessage, McpTransport } from '../transport/transport.js';
import { MODERN_VERSION, type Engine, type Era } from './engine.js';

/** The longest time of a Node timer: the callers enforce deadlines. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Accepts any result: it was checked before it reached the SDK. */
const ANY_RESULT = { '~standard': { version: 1, vendor: 'toolwright', validate: (value: unknown) => ({ value }) } };
const NO_VALIDATOR = {
  getValidator: () => (input: unknown) => ({ valid: true, data: input, errorMessage: undefined }),
} as never;
/** Tells the SDK the era; it uses nothing else of a modern server's discovery. */
const PRIOR = {
  legacy: { kind: 'legacy' },
  modern: {
    kind: 'modern',
    discover: { supportedVersions: [MODERN_VERSION], capabilities: {}, ttlMs: 0, cacheScope: 'private' },
  },
} as const satisfies Record<Era, PriorDiscovery>;
/** Marks methods for the SDK as unknown to it, so that it neither checks nor parses them; removed before sending. */
const UNPARSED = '~';

export function createEngine(): Engine {
  return {
    name: 'v2',
    hasModernEra: true,
    async connect(transport, { clientInfo, capabilities, era, onRequest, onClosed }) {
      const client = new Client(clientInfo, { capabilities, jsonSchemaValidator: NO_VALIDATOR });
      client.onclose = onClosed;
      client.onerror = () => undefined; // errors that matter fail a request or end the session
      client.fallbackRequestHandler = ({ method, params }, { mcpReq }) =>
        onRequest(method, params ?? {}, mcpReq.signal);
      unmarkMethods(transport);
      await client.connect(transport, { timeout: NO_TIMEOUT_MS, prior: PRIOR[era] });
      const options = { timeout: NO_TIMEOUT_MS, onprogress: () => undefined }; // makes the SDK send a progress token
      return {
        request: (method, params, headers) =>
          client.request({ method: UNPARSED + method, params }, ANY_RESULT as never, {
            ...options,
            ...(headers && { headers }),
          }),
      };
    },
    streamableHttp: ({ url, headers, fetch }) =>
      new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers } }),
    sse: ({ url, headers, fetch }) => new SSEClientTransport(url, { fetch, requestInit: { headers } }),
    authorize(provider, { serverUrl, refusal, fetchFn, answer, scope: wanted }) {
      const { resourceMetadataUrl, scope = wanted } = extractWWWAuthenticateParams(refusal);
      return auth(provider as unknown as OAuthClientProvider, {
        serverUrl,
        fetchFn: fetchFn,
        ...(resourceMetadataUrl && { resourceMetadataUrl }),
        ...(scope !== undefined && { scope: wanted ?? scope }),
        ...(answer && { authorizationCode: answer.code, ...(answer.issuer !== undefined && { iss: answer.issuer }) }),
      });
    },
  };
}

/** Makes the transport send methods without their mark. */
function unmarkMethods(transport: McpTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message: McpMessage, options?: object): Promise<void> => {
    const request = message as { method?: string };
    if (request.method?.startsWith(UNPARSED)) request.method = request.method.slice(UNPARSED.length);
    return send(message, options);
  };
}
