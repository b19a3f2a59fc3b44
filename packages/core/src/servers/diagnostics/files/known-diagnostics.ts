// Distinguishes new diagnostics from old ones: by their message and the text of their line, so that inserting lines
// above makes none new.

import { randomBytes } from 'node:crypto';
import type { Diagnostic } from '../../project/diagnostic-rows.js';

/** Diagnostics of one file, each as a text that identifies it; the same fault twice counts as two. */
export class KnownDiagnostics {
  readonly #counts = new Map<string, number>();
  /** The number of diagnostics. */
  readonly size: number;

  /** @param text the text of the file */
  constructor(diagnostics: readonly Diagnostic[], text: string) {
    this.size = diagnostics.length;
    for (const key of keysOf(diagnostics, text)) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** The diagnostics that are not known. */
  newOnes(diagnostics: readonly Diagnostic[], text: string): Diagnostic[] {
    const left = new Map(this.#counts);
    const keys = keysOf(diagnostics, text);
    return diagnostics.filter((_, index) => {
      const key = keys[index] ?? '';
      const count = left.get(key) ?? 0;
      left.set(key, count - 1);
      return count <= 0;
    });
  }
}

function sizeOf(answer: ReadonlyMap<string, KnownDiagnostics>): number {
  let size = 0;
  for (const known of answer.values()) size += known.size;
  return size;
}

function keysOf(diagnostics: readonly Diagnostic[], text: string): string[] {
  if (diagnostics.length === 0) return [];
  const lines = text.split(/\r\n|\r|\n/);
  return diagnostics.map(({ line, severity, code, source, message }) =>
    JSON.stringify([severity, code, source, message, lines[line - 1]?.trim()]),
  );
}

/** The number of results that `since` can refer to. */
const MAX_TOKENS = 32;
/** The limit of diagnostics in all results; the latest result is always kept. */
const MAX_KEPT = 20_000;

/** The results, by token. */
export class GivenAnswers {
  readonly #answers = new Map<string, ReadonlyMap<string, KnownDiagnostics>>();

  /** Stores a result, and returns its token. */
  keep(answer: ReadonlyMap<string, KnownDiagnostics>): string {
    const token = randomBytes(9).toString('base64url');
    let kept = sizeOf(answer);
    for (const each of this.#answers.values()) kept += sizeOf(each);
    for (const [oldest, each] of this.#answers) {
      if (this.#answers.size < MAX_TOKENS && kept <= MAX_KEPT) break;
      kept -= sizeOf(each);
      this.#answers.delete(oldest);
    }
    this.#answers.set(token, answer);
    return token;
  }

  get(token: string): ReadonlyMap<string, KnownDiagnostics> | undefined {
    return this.#answers.get(token);
  }
}
