// What a language server has pushed, the last of each file, and the wait for more.

import { fileURLToPath } from 'node:url';
import type { PublishDiagnosticsParams } from 'vscode-languageserver-protocol';
import type { Diagnostic } from '../../project/diagnostic-rows.js';
import { diagnosticFromLsp } from './lsp-conversion.js';

/** Files of which pushes are kept. A server may push for every file of a workspace. */
const MAX_FILES = 1_000;
/** Of one file. */
const MAX_ITEMS = 2_000;
/** Of all files. */
const MAX_ALL_ITEMS = 20_000;

/** What was pushed for a file. */
export interface Push {
  /** Of the document that it is about; undefined where the server does not say. */
  version: number | undefined;
  diagnostics: readonly Diagnostic[];
  /** Something in it was no diagnostic, so that it cannot be relied on. */
  isWrong: boolean;
  /** By `performance.now()`. */
  at: number;
  /** When the first one about this version came. */
  firstAt: number;
  /** None about this version had an error in it: it may be the server's greeting, or the syntax alone. */
  isCleanSoFar: boolean;
}

/** What comes later than this after a list without errors has another cause, such as a file that it depends on. */
const MAX_LEARNT_MS = 10_000;

/** The last push of each file. */
export class PushedDiagnostics {
  readonly #server: string;
  readonly #pushes = new Map<string, Push>();
  #items = 0;
  readonly #waiting = new Set<() => void>();
  #disturbedAt = 0;
  #findsErrorsAfterMs = 0;

  /** @param server the source of diagnostics that name none */
  constructor(server: string) {
    this.#server = server;
  }

  /** All that is kept, by file. */
  get all(): ReadonlyMap<string, Push> {
    return this.#pushes;
  }

  get(absolute: string): Push | undefined {
    return this.#pushes.get(absolute);
  }

  /** The longest that this server took from a list without errors to one with errors in the same version. */
  get findsErrorsAfterMs(): number {
    return this.#findsErrorsAfterMs;
  }

  /** Drops what is kept of a file that was opened, changed or closed. */
  forget(absolute: string): void {
    this.#disturbedAt = performance.now();
    this.#drop(absolute);
  }

  #drop(absolute: string): void {
    this.#items -= this.#pushes.get(absolute)?.diagnostics.length ?? 0;
    this.#pushes.delete(absolute);
  }

  /** Takes a notification as it came from the server; what is none is left out. */
  take(params: Partial<PublishDiagnosticsParams> | undefined): void {
    const absolute = pathOfUri(params?.uri);
    if (absolute === undefined || !Array.isArray(params?.diagnostics)) return;
    const at = performance.now();
    const version = typeof params.version === 'number' ? params.version : undefined;
    const kept = this.#pushes.get(absolute);
    const before = kept?.version === version ? kept : undefined;
    const items = params.diagnostics.slice(0, MAX_ITEMS).map((item) => diagnosticFromLsp(item, this.#server));
    const diagnostics = items.filter((each) => each !== undefined);
    const isClean = diagnostics.every(({ severity }) => severity !== 'error');
    if (before?.isCleanSoFar && !isClean && before.firstAt > this.#disturbedAt && at - before.firstAt <= MAX_LEARNT_MS)
      this.#findsErrorsAfterMs = Math.max(this.#findsErrorsAfterMs, at - before.firstAt);
    this.#drop(absolute);
    this.#items += diagnostics.length;
    this.#pushes.set(absolute, {
      version,
      diagnostics,
      isWrong: diagnostics.length < items.length,
      at,
      firstAt: before?.firstAt ?? at,
      isCleanSoFar: isClean && (before?.isCleanSoFar ?? true),
    });
    for (const oldest of this.#pushes.keys()) {
      if ((this.#pushes.size <= MAX_FILES && this.#items <= MAX_ALL_ITEMS) || oldest === absolute) break;
      this.#drop(oldest);
    }
    this.wake();
  }

  /** Something happened that a wait may end by: a push, a registration, the end of progress or of the session. */
  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }

  /** Resolves at the next {@link wake}, or after so many milliseconds. */
  async changed(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let wake: (() => void) | undefined;
    try {
      await new Promise<void>((resolve) => {
        wake = resolve;
        this.#waiting.add(resolve);
        timer = setTimeout(resolve, ms);
      });
    } finally {
      clearTimeout(timer);
      if (wake) this.#waiting.delete(wake);
    }
  }
}

/** The file that a URI names; undefined for what names none. */
export function pathOfUri(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !/^file:\/\//i.test(uri)) return undefined;
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined; // another host, or an escaped slash
  }
}
