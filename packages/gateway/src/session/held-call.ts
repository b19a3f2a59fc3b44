// One request of a client of MCP 2026-07-28, from its first attempt to its result. When a server asks something meanwhile,
// the attempt is answered with the questions and the request keeps running; the client's retry brings the answers.

import { randomBytes } from 'node:crypto';
import type { JsonObject } from '@toolwright/core';
import { deferred, isJsonObject, untilAborted, type Deferred } from '@toolwright/core/internal';
import type { AnswerStream, Exchange } from '../engines/port.js';

interface Question {
  readonly request: { method: string; params: JsonObject };
  readonly answer: Deferred<JsonObject>;
}

/** What an attempt is answered with: the result, or questions whose answers the next attempt brings. */
export type Attempt = { readonly result: JsonObject } | { readonly inputRequests: JsonObject };

/** A running request, and the attempt that waits for it, if there is one. */
export class HeldCall {
  readonly id = randomBytes(16).toString('base64url');
  readonly #run: (exchange: Exchange) => Promise<JsonObject>;
  readonly #mayAsk: (method: string, params: JsonObject) => void;
  readonly #abort = new AbortController();
  readonly #questions = new Map<string, Question>();
  #stream: AnswerStream | undefined;
  #done: Promise<JsonObject> | undefined;
  #asked = deferred<void>();
  #asks = 0;

  /** @param options `mayAsk` throws the error with which a server's question is declined */
  constructor(options: {
    run: (exchange: Exchange) => Promise<JsonObject>;
    mayAsk: (method: string, params: JsonObject) => void;
  }) {
    this.#run = options.run;
    this.#mayAsk = options.mayAsk;
  }

  /**
   * Waits for the result or the next questions on behalf of one attempt, which brings answers by key. The first attempt
   * starts the request; a cancelled one ends it.
   *
   * @throws whatever the request rejects with
   */
  async next(stream: AnswerStream, answers: JsonObject = {}): Promise<Attempt> {
    const onAbort = (): void => this.end();
    stream.signal.addEventListener('abort', onAbort);
    if (stream.signal.aborted) onAbort();
    this.#stream = stream;
    this.#answer(answers);
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
      notify: (method, params) => this.#stream?.notify(method, params),
      request: (method, params, { signal }) => this.#ask(method, params, signal),
    });
    done.catch(() => undefined); // it may end while no attempt waits for it
    return done;
  }

  async #ask(method: string, params: JsonObject, signal: AbortSignal | undefined): Promise<JsonObject> {
    this.#mayAsk(method, params);
    const key = `q${++this.#asks}`;
    const question: Question = { request: { method, params }, answer: deferred<JsonObject>() };
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
      const given = Object.hasOwn(answers, key) ? answers[key] : undefined;
      if (!isJsonObject(given)) continue;
      this.#questions.delete(key);
      answer.resolve(given);
    }
  }

  #inputRequests(): JsonObject {
    return Object.fromEntries([...this.#questions].map(([key, { request }]) => [key, request]));
  }
}
