// Calls an embedder once at a time, queries before contents: a model is rarely made for concurrent calls, and a query waits for
// its answer.

import { ToolError } from '../../../contract/errors.js';
import type { Embedder, EmbeddingKind } from './embedder.js';

/** A call that has not settled by then has failed, as all others wait for it. */
const CALL_TIMEOUT_MS = 60_000;

interface EmbedCall {
  texts: readonly string[];
  kind: EmbeddingKind;
  resolve: (vectors: readonly Float32Array[]) => void;
  reject: (error: unknown) => void;
}

export class SerialEmbedder implements Embedder {
  readonly id: string;
  readonly dim: number;
  readonly fusionWeight: number;
  readonly maxTokens: number | undefined;
  readonly #embedder: Embedder;
  #waiting: EmbedCall[] = [];
  #running: EmbedCall | undefined;
  #timeout: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(embedder: Embedder) {
    this.#embedder = embedder;
    this.id = embedder.id;
    this.dim = embedder.dim;
    this.fusionWeight = embedder.fusionWeight;
    this.maxTokens = embedder.maxTokens;
  }

  embed(texts: readonly string[], kind: EmbeddingKind): Promise<readonly Float32Array[]> {
    if (this.#isStopped) return Promise.reject(this.#stopped());
    return new Promise((resolve, reject) => {
      const call = { texts, kind, resolve, reject };
      const firstDoc = this.#waiting.findIndex((other) => other.kind === 'doc');
      if (kind === 'query' && firstDoc >= 0) this.#waiting.splice(firstDoc, 0, call);
      else this.#waiting.push(call);
      this.#startNext();
    });
  }

  /** Fails the calls that run or wait, and later ones. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timeout);
    const calls = [...(this.#running ? [this.#running] : []), ...this.#waiting];
    this.#running = undefined;
    this.#waiting = [];
    for (const { reject } of calls) reject(this.#stopped());
  }

  #startNext(): void {
    if (this.#running) return;
    const call = this.#waiting.shift();
    if (!call) return;
    this.#running = call;
    const settle = (action: () => void): void => {
      if (this.#running !== call) return; // stopped, or too late
      clearTimeout(this.#timeout);
      this.#running = undefined;
      action();
      this.#startNext();
    };
    const late = (): void =>
      settle(() => call.reject(new ToolError('TIMED_OUT', `it did not respond within ${CALL_TIMEOUT_MS / 1_000} s`)));
    this.#timeout = setTimeout(late, CALL_TIMEOUT_MS).unref();
    this.#call(call).then(
      (vectors) => settle(() => call.resolve(vectors)),
      (error: unknown) => settle(() => call.reject(error)),
    );
  }

  async #call({ texts, kind }: EmbedCall): Promise<readonly Float32Array[]> {
    return this.#embedder.embed(texts, kind);
  }

  #stopped(): ToolError {
    return new ToolError('CONNECTION_CLOSED', 'The memory server was stopped.');
  }
}
