// One request of a client of MCP 2026-07-28, from its first attempt to its result. When a server asks something meanwhile,
// the attempt is answered with the questions and the request keeps running; the client's retry brings the answers.

import { randomBytes } from 'node:crypto';
import type { JsonObject } from '@toolwright/core';
import { deferred, isJsonObject, untilAborted, type Deferred } from '@toolwright/core/internal';
import type { AnswerStream, Exchange } from '../engines/port.js';
import type { ModernRequest } from '../engines/v2.js';

interface Question {
  readonly request: { method: string; params: JsonObject };
  readonly askedAt: number;
  readonly answer: Deferred<JsonObject>;
}

/** What an attempt is answered with: the result, or questions whose answers the next attempt brings. */
export type Attempt = { readonly result: JsonObject } | { readonly inputRequests: JsonObject };

/** A running request, and the attempt that waits for it, if there is one. */
export class HeldCall {
  readonly id = randomBytes(16).toString('base64url');
  readonly #run: (exchange: Exchange) => Promise<JsonObject>;
  readonly #assertMayAsk: (method: string, params: JsonObject) => void;
  readonly #abort = new AbortController();
  readonly #questions = new Map<string, Question>();
  #request: ModernRequest;
  #stream: AnswerStream | undefined;
  #done: Promise<JsonObject> | undefined;
  #asked = deferred<void>();
  #asks = 0;

  /**
   * @param request the first attempt
   * @param options `assertMayAsk` throws the error with which a server's question is declined
   */
  constructor(
    request: ModernRequest,
    options: {
      run: (exchange: Exchange) => Promise<JsonObject>;
      assertMayAsk: (method: string, params: JsonObject) => void;
    },
  ) {
    this.#request = request;
    this.#run = options.run;
    this.#assertMayAsk = options.assertMayAsk;
  }

  /** The latest attempt: its capabilities, log level and progress token apply. */
  get request(): ModernRequest {
    return this.#request;
  }

  /** When the question was asked that waits longest for an answer, on the monotonic clock; undefined for none. */
  get askedAt(): number | undefined {
    const [oldest] = this.#questions.values();
    return oldest?.askedAt;
  }

  /**
   * Waits for the result or the next questions on behalf of one attempt, which brings answers by key. The first attempt
   * starts the request; a cancelled one ends it.
   *
   * @throws whatever the request rejects with
   */
  async next(request: ModernRequest, stream: AnswerStream): Promise<Attempt> {
    const onAbort = (): void => this.end();
    stream.signal.addEventListener('abort', onAbort);
    if (stream.signal.aborted) onAbort();
    this.#request = request;
    this.#stream = stream;
    this.#answer(request.inputResponses ?? {});
    const done = (this.#done ??= this.#start());
    try {
      // A question may be withdrawn before it is put, and one that was left out is asked again.
      while (this.#questions.size === 0) {
        const result = await Promise.race([done, this.#asked.promise]);
        if (result !== undefined) return { result };
        this.#asked = deferred<void>();
      }
      return { inputRequests: this.#inputRequests() };
    } finally {
      stream.signal.removeEventListener('abort', onAbort);
      if (this.#stream === stream) this.#stream = undefined;
    }
  }

  /** Aborts the request. */
  end(): void {
    this.#abort.abort();
  }

  #start(): Promise<JsonObject> {
    const done = this.#run({
      signal: this.#abort.signal,
      notify: (method, params) => this.#notify(method, params),
      request: (method, params, { signal }) => this.#ask(method, params, signal),
    });
    done.catch(() => undefined); // it may end while no attempt waits for it
    return done;
  }

  #notify(method: string, params: JsonObject): void {
    if (method !== 'notifications/progress') return this.#stream?.notify(method, params);
    const { progressToken } = this.#request; // an earlier attempt's token has ended with its answer
    if (progressToken !== undefined) this.#stream?.notify(method, { ...params, progressToken });
  }

  async #ask(method: string, params: JsonObject, signal: AbortSignal | undefined): Promise<JsonObject> {
    this.#abort.signal.throwIfAborted();
    this.#assertMayAsk(method, params);
    const key = `q${++this.#asks}`;
    const question = { request: { method, params }, askedAt: performance.now(), answer: deferred<JsonObject>() };
    this.#questions.set(key, question);
    setImmediate(() => this.#questions.has(key) && this.#asked.resolve()); // together with questions of the same turn
    try {
      return await untilAborted(
        question.answer.promise,
        AbortSignal.any([this.#abort.signal, ...(signal ? [signal] : [])]),
      );
    } finally {
      this.#questions.delete(key);
    }
  }

  #answer(answers: JsonObject): void {
    for (const [key, { answer }] of this.#questions) {
      const response = Object.hasOwn(answers, key) ? answers[key] : undefined;
      if (!isJsonObject(response)) continue;
      this.#questions.delete(key);
      answer.resolve(response);
    }
  }

  #inputRequests(): JsonObject {
    return Object.fromEntries([...this.#questions].map(([key, { request }]) => [key, request]));
  }
}
