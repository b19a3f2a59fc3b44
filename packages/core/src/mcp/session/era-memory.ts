// Remembers which revisions of MCP a server speaks, so that a legacy server is asked once a day at most.

import { settledWithin } from '../../call/waiting.js';
import type { Era } from '../engines/engine.js';

/** Which revisions of MCP a server spoke, and when. */
export interface EraVerdict {
  /** `'modern'`: MCP 2026-07-28. `'legacy'`: earlier revisions only. */
  era: Era;
  /** When the server was asked, in milliseconds since the epoch. */
  at: number;
}

/**
 * Stores verdicts by key. A key is the hash of a server's configuration and credentials. A verdict that cannot be read or
 * written only costs time: failures are ignored, and after a second the server is asked instead.
 */
export interface EraStore {
  /** Returns the verdict, or undefined when there is none. */
  get(key: string): EraVerdict | undefined | Promise<EraVerdict | undefined>;
  /** Stores a verdict; undefined removes it. */
  set(key: string, verdict: EraVerdict | undefined): void | Promise<void>;
}

const DAY_MS = 24 * 60 * 60_000;
const MAX_VERDICTS = 1_000;
/** How long to wait for a store. */
const STORE_TIMEOUT_MS = 1_000;

const verdicts = new Map<string, EraVerdict>();

/** The store of this process. */
const PROCESS_STORE: EraStore = {
  get: (key) => verdicts.get(key),
  set(key, verdict) {
    verdicts.delete(key);
    if (verdict) verdicts.set(key, verdict);
    const [oldest] = verdicts.keys();
    if (verdicts.size > MAX_VERDICTS && oldest !== undefined) verdicts.delete(oldest);
  },
};

/** The verdict on one server. */
export class EraMemory {
  readonly #store: EraStore;
  readonly #key: string | undefined;

  /** @param key undefined for a server that cannot be identified: nothing is remembered */
  constructor(key: string | undefined, store: EraStore = PROCESS_STORE) {
    this.#store = store;
    this.#key = key;
  }

  /** The era of the latest verdict, if it is not older than a day. */
  async recall(): Promise<Era | undefined> {
    if (this.#key === undefined) return undefined;
    const key = this.#key;
    const stored = (async () => this.#store.get(key))();
    try {
      if (!(await settledWithin([stored], STORE_TIMEOUT_MS))) return undefined;
      const verdict = await stored;
      const age = Date.now() - Number(verdict?.at);
      if (age >= 0 && age < DAY_MS && (verdict?.era === 'legacy' || verdict?.era === 'modern')) return verdict.era;
    } catch {
      // The server is asked instead.
    }
    return undefined;
  }

  /** Stores the era; undefined removes the verdict. */
  async remember(era: Era | undefined): Promise<void> {
    if (this.#key === undefined) return;
    try {
      await this.#store.set(this.#key, era && { era, at: Date.now() });
    } catch {
      // The server is asked again next time.
    }
  }
}
