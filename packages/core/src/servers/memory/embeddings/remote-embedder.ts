// Uses the host's embedder, which runs in the host's thread, from the memory thread, through a message port.

import type { MessagePort } from 'node:worker_threads';
import { ToolError } from '../../../contract/errors.js';
import type { Embedder, EmbeddingKind } from './embedder.js';

/** The properties that the memory thread needs before the first call. */
export type EmbedderDescription = Pick<Embedder, 'id' | 'dim' | 'fusionWeight' | 'maxTokens'>;

interface EmbedCall {
  call: number;
  texts: readonly string[];
  kind: EmbeddingKind;
}
type EmbedReply = { call: number } & ({ vectors: readonly Float32Array[] } | { failure: string });

export function describeEmbedder({ id, dim, fusionWeight, maxTokens }: Embedder): EmbedderDescription {
  return { id, dim, fusionWeight, maxTokens };
}

/** Serves calls from the port until it closes. Does not keep the process alive. */
export function serveEmbedder(port: MessagePort, embedder: Embedder): void {
  port.on('message', ({ call, texts, kind }: EmbedCall) => {
    const reply = async (): Promise<EmbedReply> => {
      try {
        return { call, vectors: await embedder.embed(texts, kind) };
      } catch (error) {
        return { call, failure: ToolError.from(error, 'EXECUTION_FAILED').message };
      }
    };
    void reply().then((message) => {
      try {
        port.postMessage(message);
      } catch {
        port.postMessage({ call, failure: 'it returned a value that cannot be sent to another thread' }); // such as a proxy
      }
    });
  });
  port.unref();
}

/** The embedder that {@link serveEmbedder} serves at the other end of this port. */
export function remoteEmbedder(description: EmbedderDescription, port: MessagePort): Embedder {
  const waiting = new Map<
    number,
    { resolve: (vectors: readonly Float32Array[]) => void; reject: (e: Error) => void }
  >();
  let calls = 0;
  port.on('message', (reply: EmbedReply) => {
    const call = waiting.get(reply.call);
    waiting.delete(reply.call);
    if ('vectors' in reply) call?.resolve(reply.vectors);
    else call?.reject(failure(reply.failure));
  });
  port.on('close', () => {
    for (const { reject } of waiting.values()) reject(failure('its thread exited'));
    waiting.clear();
  });
  port.unref();
  const failure = (what: string): ToolError =>
    new ToolError('EXECUTION_FAILED', `The embedder "${description.id}" failed: ${what}`);
  return {
    ...description,
    embed: (texts, kind) =>
      new Promise((resolve, reject) => {
        const call = ++calls;
        waiting.set(call, { resolve, reject });
        port.postMessage({ call, texts, kind } satisfies EmbedCall);
      }),
    dispose: () => port.close(),
  };
}
