// Queues approval questions: one at a time for each approve function; equal questions that are open share one answer.

import type { CallScope } from '../../call/call-scope.js';
import { untilAborted } from '../../call/waiting.js';

interface Question<Answer> {
  readonly answer: Promise<Answer>;
  readonly abort: AbortController;
  /** The number of calls that wait for the answer. */
  waiting: number;
  /** Prevents further calls from joining. */
  readonly close: () => void;
}

/** The end of the last question of each approve function, across hubs. */
const turns = new WeakMap<object, Promise<unknown>>();

/** The open questions of one hub. */
export class QuestionQueue<Answer> {
  readonly #open = new WeakMap<object, Map<string, Question<Answer>>>();

  /**
   * Waits for its turn, asks the question and returns the answer; joins an equal question that is open.
   *
   * @param asker the approve function; its questions are asked one after the other
   * @param key equal for equal questions of one hub
   * @param put asks the question; its signal is aborted when every call that waits has ended
   * @throws {ToolError} what ended the call, or what `put` throws
   */
  async ask(
    asker: object,
    key: string,
    scope: CallScope,
    put: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const question = this.#openQuestion(asker, key, put);
    const leave = (): void => {
      if (--question.waiting > 0) return;
      question.close(); // a later equal call asks again
      question.abort.abort(scope.error);
    };
    question.waiting++;
    scope.onEnd(leave);
    try {
      return await scope.race(question.answer);
    } finally {
      scope.offEnd(leave);
    }
  }

  #openQuestion(asker: object, key: string, put: (signal: AbortSignal) => Promise<Answer>): Question<Answer> {
    let open = this.#open.get(asker);
    if (!open) this.#open.set(asker, (open = new Map<string, Question<Answer>>()));
    const known = open.get(key);
    if (known) return known;
    const questions = open;
    const abort = new AbortController();
    const question: Question<Answer> = {
      answer: takeTurn(asker, abort.signal, put),
      abort,
      waiting: 0,
      close: () => {
        if (questions.get(key) === question) questions.delete(key);
      },
    };
    questions.set(key, question);
    question.answer.then(question.close, question.close);
    return question;
  }
}

function takeTurn<Answer>(
  asker: object,
  signal: AbortSignal,
  put: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const before = turns.get(asker);
  const turn = (async () => {
    await before;
    signal.throwIfAborted();
    return untilAborted(put(signal), signal);
  })();
  const ended = turn
    .then(
      () => undefined,
      () => undefined, // the waiting calls receive the error
    )
    .then(() => {
      if (turns.get(asker) === ended) turns.delete(asker);
    });
  turns.set(asker, ended);
  return turn;
}
