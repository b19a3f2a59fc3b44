// Converts between Node's HTTP messages and the web's, which the SDK's transport uses.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Backlog, Outlet } from '../session/backlog.js';

/** A client that reads nothing for this long while data waits for it is disconnected. */
const WRITE_TIMEOUT_MS = 30_000;
/** A body over the limit is read and discarded up to this size, so that the client receives the answer. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** The body as text; undefined when it is over the limit. @throws when the client disconnects before its end */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_DISCARDED_BYTES) break; // also destroys the connection
    if (length <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  return length > maxBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}

/**
 * The request without its body, which was read already.
 *
 * @param acceptsBoth the listener has chosen JSON or an event stream by the client's Accept header already
 */
export function webRequestOf({ method = 'GET', headers, url = '/' }: IncomingMessage, acceptsBoth: boolean): Request {
  const named = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && name !== 'authorization') named.set(name, value); // the token must not reach the transport
  }
  // The transport requires both types by name, also of a client that accepts */*.
  const { accept = '*/*' } = headers;
  if (method === 'POST' && (acceptsBoth || accept.includes('*/*')))
    named.set('accept', 'application/json, text/event-stream');
  return new Request(new URL(url.startsWith('/') ? `http://gateway${url}` : 'http://gateway/'), {
    method,
    headers: named,
  });
}

/**
 * Streams the answer. Unread bytes wait in the response's buffer, where the backlog counts them; a client that reads nothing
 * for 30 seconds, or for which too many bytes wait, is disconnected.
 */
export async function sendResponse(answer: Response, response: ServerResponse, backlog: Backlog): Promise<void> {
  const { connection: _, ...headers } = Object.fromEntries(answer.headers); // HttpConnections decides keep-alive
  response.writeHead(answer.status, headers);
  const reader = answer.body?.getReader();
  if (!reader) return void response.end();
  response.flushHeaders();
  const outlet: Outlet = {
    get pendingBytes() {
      return response.writableLength;
    },
    drop: () => response.destroy(),
  };
  const leaveBacklog = backlog.add(outlet);
  const stop = (): void => {
    leaveBacklog();
    reader.cancel().catch(() => undefined); // the body has ended already
  };
  response.once('close', stop);
  setWriteTimeout(response);
  if (response.destroyed) stop();
  for (;;) {
    const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
    if (done || !value || response.destroyed) break;
    if (!response.write(value)) backlog.check(outlet);
  }
  response.end(); // its 'close' runs stop()
}

/** Destroys the connection when the client reads nothing for {@link WRITE_TIMEOUT_MS} while data waits for it. */
export function setWriteTimeout(response: ServerResponse): void {
  response.setTimeout(WRITE_TIMEOUT_MS, () => {
    if (response.writableLength > 0) response.destroy();
  });
}
