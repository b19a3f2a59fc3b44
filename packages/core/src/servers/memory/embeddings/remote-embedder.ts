// An embedder of the caller's, which lives in the caller's thread, used from another thread: texts go over a message
// port, vectors come back.

import type { MessagePort } from 'node:worker_threads';
import { ToolError } from '../../../contract/errors.js';
import type { Embedder, EmbeddingKind } from './embedder.js';

/** What the other thread has to know before the first call. */
export type EmbedderDescription = Pick<Embedder, 'id' | 'dim' | 'fusionWeight' | 'maxTokens'>;

interface EmbedCall {
  call: number;
  texts: readonly string[];
  kind: EmbeddingKind;
}
type EmbedAnswer = { call: number } & ({ vectors: readonly Float32Array[] } | { failure: string });

export function describeEmbedder({ id, dim, fusionWeight, maxTokens }: Embedder): EmbedderDescription {
  return { id, dim, fusionWeight, maxTokens };
}

/** Answers the calls that come over a port with this embedder, until the port is closed. Keeps no process alive. */
export function serveEmbedder(port: MessagePort, embedder: Embedder): void {
  port.on('message', ({ call, texts, kind }: EmbedCall) => {
    const answer = async (): Promise<EmbedAnswer> => {
      try {
        return { call, vectors: await embedder.embed(texts, kind) };
      } catch (error) {
        return { call, failure: ToolError.from(error, 'EXECUTION_FAILED').message };
      }
    };
    void answer().then((message) => {
      try {
        port.postMessage(message);
      } catch {
        port.postMessage({ call, failure: 'it returned what cannot be sent to another thread' }); // a function, a proxy
      }
    });
  });
  port.unref();
}

/** The embedder that {@link serveEmbedder} serves at the other end of the port. */
export function remoteEmbedder(description: EmbedderDescription, port: MessagePort): Embedder {
  const waiting = new Map<
    number,
    { resolve: (vectors: readonly Float32Array[]) => void; reject: (e: Error) => void }
  >();
  let calls = 0;
  port.on('message', (answer: EmbedAnswer) => {
    const call = waiting.get(answer.call);
    waiting.delete(answer.call);
    if ('vectors' in answer) call?.resolve(answer.vectors);
    else call?.reject(failure(answer.failure));
  });
  port.on('close', () => {
    for (const { reject } of waiting.values()) reject(failure('its thread has ended'));
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
