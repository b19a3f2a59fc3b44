// Questions to people: one at a time to each asker, and equal ones that wait at the same time only once.

import type { CallScope } from '../../call/call-scope.js';
import { untilAborted } from '../../call/waiting.js';

interface Question<Answer> {
  readonly answer: Promise<Answer>;
  readonly abort: AbortController;
  /** The calls that wait for the answer. */
  waiting: number;
  /** No further call joins it. */
  readonly close: () => void;
}

/** The end of the last question to each asker, whichever hub put it. */
const turns = new WeakMap<object, Promise<unknown>>();

/** The open questions of one hub. */
export class QuestionQueue<Answer> {
  readonly #open = new WeakMap<object, Map<string, Question<Answer>>>();

  /**
   * Waits for its turn, puts the question and gives the answer; joins an equal question that is open.
   *
   * @param asker the function that is asked; its questions are put one after the other
   * @param key what makes two questions of one hub equal
   * @param put puts the question; its signal is aborted when every call that waits has ended
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
      question.close(); // an equal call that comes now asks anew
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
      () => undefined, // told to the calls that wait for it
    )
    .then(() => {
      if (turns.get(asker) === ended) turns.delete(asker);
    });
  turns.set(asker, ended);
  return turn;
}
