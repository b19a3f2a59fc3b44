// What a language server has pushed, the last of each file, and the wait for more.

import { fileURLToPath } from 'node:url';
import type { Diagnostic as LspDiagnostic, PublishDiagnosticsParams } from 'vscode-languageserver-protocol';

/** Files of which pushes are kept. A server may push for every file of a workspace. */
const MAX_FILES = 1_000;
const MAX_ITEMS = 2_000;

/** What was pushed for a file. */
export interface Push {
  /** Of the document that it is about; undefined where the server does not say. */
  version: number | undefined;
  items: readonly LspDiagnostic[];
  /** By `performance.now()`. */
  at: number;
  /** How many came for the file since it was opened. */
  count: number;
}

/** The last push of each file. */
export class PushedDiagnostics {
  readonly #pushes = new Map<string, Push>();
  readonly #waiting = new Set<() => void>();

  /** All that is kept, by file. */
  get all(): ReadonlyMap<string, Push> {
    return this.#pushes;
  }

  get(absolute: string): Push | undefined {
    return this.#pushes.get(absolute);
  }

  forget(absolute: string): void {
    this.#pushes.delete(absolute);
  }

  /** Takes a notification as it came from the server; what is none is left out. */
  take(params: Partial<PublishDiagnosticsParams> | undefined): void {
    const absolute = pathOfUri(params?.uri);
    if (absolute === undefined || !Array.isArray(params?.diagnostics)) return;
    const { version, diagnostics } = params;
    const count = (this.#pushes.get(absolute)?.count ?? 0) + 1;
    this.#pushes.delete(absolute);
    this.#pushes.set(absolute, {
      version: typeof version === 'number' ? version : undefined,
      items: diagnostics.slice(0, MAX_ITEMS),
      at: performance.now(),
      count,
    });
    for (const oldest of this.#pushes.keys()) {
      if (this.#pushes.size <= MAX_FILES) break;
      this.#pushes.delete(oldest);
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
