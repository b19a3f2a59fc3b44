// Stores a language server's latest pushed diagnostics of each file, and waits for more.

import { fileURLToPath } from 'node:url';
import type { PublishDiagnosticsParams } from 'vscode-languageserver-protocol';
import type { Diagnostic } from '../../project/diagnostic-rows.js';
import { diagnosticFromLsp } from './lsp-conversion.js';

/** The limit of files, as a server may push for every file of a workspace. */
const MAX_FILES = 1_000;
/** The limit of diagnostics of one file. */
const MAX_ITEMS = 2_000;
/** The limit of diagnostics of all files. */
const MAX_ALL_ITEMS = 20_000;

/** The pushed diagnostics of a file. */
export interface Push {
  /** The version of the document; undefined if the server does not report it. */
  version: number | undefined;
  diagnostics: readonly Diagnostic[];
  /** True if some diagnostic was invalid, so that the list is unreliable. */
  isWrong: boolean;
  /** By `performance.now()`. */
  at: number;
  /** When the first push for this version arrived. */
  firstAt: number;
  /** True if no push for this version had an error: it may be an initial push, or only syntax errors. */
  isCleanSoFar: boolean;
}

/** A push later than this after an empty list has another cause, such as a changed dependency. */
const MAX_LEARNT_MS = 10_000;

/** The latest push of each file. */
export class PushedDiagnostics {
  readonly #server: string;
  readonly #pushes = new Map<string, Push>();
  #items = 0;
  readonly #waiting = new Set<() => void>();
  #disturbedAt = 0;
  #findsErrorsAfterMs = 0;

  /** @param server the default source of diagnostics */
  constructor(server: string) {
    this.#server = server;
  }

  /** All stored pushes, by file. */
  get all(): ReadonlyMap<string, Push> {
    return this.#pushes;
  }

  get(absolute: string): Push | undefined {
    return this.#pushes.get(absolute);
  }

  /** The longest time from an empty list to one with errors in the same version. */
  get findsErrorsAfterMs(): number {
    return this.#findsErrorsAfterMs;
  }

  /** Drops the push of a file that was opened, changed or closed. */
  forget(absolute: string): void {
    this.#disturbedAt = performance.now();
    this.#drop(absolute);
  }

  #drop(absolute: string): void {
    this.#items -= this.#pushes.get(absolute)?.diagnostics.length ?? 0;
    this.#pushes.delete(absolute);
  }

  /** Stores an unchecked notification; ignores invalid ones. */
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

  /** Wakes waiting calls after a push, a registration, the end of progress or of the session. */
  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }

  /** Resolves at the next {@link wake}, or after a time in milliseconds. */
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

/** The file of a URI; undefined for any other URI. */
export function pathOfUri(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !/^file:\/\//i.test(uri)) return undefined;
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined; // another host, or an escaped slash
  }
}
