// Node's HTTP messages and the web's: what the SDK's transport takes and gives.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Backlog, Outlet } from '../session/backlog.js';

/** A client that takes nothing for this long while there is something for it is let go. */
const WRITE_PATIENCE_MS = 30_000;
/** What is over a limit is read to its end, so that the client hears the answer, up to this much. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** The whole body as text; undefined for one over the limit. @throws when the client goes before its end */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_DISCARDED_BYTES) break; // ends the connection too
    if (length <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  return length > maxBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}

/**
 * Method and headers as the web has them; the body was read already.
 *
 * @param takesEither the form of the answer was chosen by what the client accepts
 */
export function webRequestOf({ method = 'GET', headers, url = '/' }: IncomingMessage, takesEither: boolean): Request {
  const named = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && name !== 'authorization') named.set(name, value); // the token goes no further
  }
  // A client that takes anything takes either form; the transport asks that both are named.
  const { accept = '*/*' } = headers;
  if (method === 'POST' && (takesEither || accept.includes('*/*')))
    named.set('accept', 'application/json, text/event-stream');
  return new Request(new URL(url.startsWith('/') ? `http://gateway${url}` : 'http://gateway/'), {
    method,
    headers: named,
  });
}

/**
 * Sends the answer as it comes. What the client is too slow for waits in one place, where it is counted; a client that
 * takes nothing for a while, or for which too much waits, is let go.
 */
export async function sendResponse(answer: Response, response: ServerResponse, backlog: Backlog): Promise<void> {
  const { connection: _, ...headers } = Object.fromEntries(answer.headers); // whether it is kept is the listener's matter
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
    reader.cancel().catch(() => undefined); // it has ended already
  };
  response.once('close', stop);
  letGoUnread(response);
  if (response.destroyed) stop();
  for (;;) {
    const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
    if (done || !value || response.destroyed) break;
    if (!response.write(value)) backlog.check(outlet);
  }
  response.end(); // its close ends what waits for it
}

/** Ends a connection on which nothing has moved for long while there is something to send. */
export function letGoUnread(response: ServerResponse): void {
  response.setTimeout(WRITE_PATIENCE_MS, () => {
    if (response.writableLength > 0) response.destroy();
  });
}
