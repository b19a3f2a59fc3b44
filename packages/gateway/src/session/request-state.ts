// The `requestState` of the gateway: what a client carries from an `input_required` to the retry that answers it. It is
// encrypted and authenticated (AES-256-GCM), bound to one client and one request, expires, and is used once.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { ToolError, type JsonObject } from '@toolwright/core';
import { canonicalJson, isJsonObject } from '@toolwright/core/internal';
import { MAX_STATE_LENGTH } from '../engines/v2.js';

/** 32 random bytes, or their base64. */
export type StateKey = Uint8Array | string;

/** What a state says about a request whose client was asked. */
export interface RequestState {
  /** The id of the call that waits for the answer in this process. */
  readonly held?: string;
  /** The digest of the approval request that was shown. */
  readonly asked?: string;
  /** The digests of the approval requests that were allowed in earlier rounds. */
  readonly approved?: readonly string[];
  /** True when a server's round was relayed. */
  readonly relayed?: boolean;
  /** The server's own state. */
  readonly upstream?: string;
}

/** What opening a state returns: the state, or why it is not valid. */
export type OpenedState =
  | { readonly state: RequestState }
  | {
      readonly fault: 'invalid' | 'expired' | 'used' | 'full';
      /** True when a server has received the request already. */
      readonly began: boolean;
    };

/** Records which states were used. A store that replicas share may answer later. */
export interface UsedStates {
  /** Returns true the first time for an id, `'full'` when no more can be recorded for the client. */
  take(id: string, expiresAt: number, principal: string): boolean | 'full' | Promise<boolean | 'full'>;
  /** Drops the records of a client that never returns. */
  forget(principal: string): void;
}

const CONTEXT = 'toolwright requestState 1';
const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = KEY_ID_BYTES + IV_BYTES;
/** Used states of one client. A client that has used more within their lifetime is refused; others are not. */
const MAX_USED = 16_384;

/** Seals and opens the states of one gateway. */
export class RequestStates {
  /** The first key seals; all of them open. */
  readonly #keys: readonly { id: Buffer; key: Buffer }[];
  readonly #ttlMs: number;
  readonly #used: UsedStates;

  /** @param options `keys`: none for a key that only this process knows @throws {ToolError} INVALID_ARGUMENT */
  constructor(options: { keys: StateKey | readonly StateKey[] | undefined; ttlMs: number; used?: UsedStates }) {
    const { keys = randomBytes(KEY_BYTES), ttlMs, used = new UsedStatesInMemory() } = options;
    const list = Array.isArray(keys) ? (keys as readonly StateKey[]) : [keys as StateKey];
    if (list.length === 0) throw keyError();
    this.#keys = list.map(deriveKey);
    this.#ttlMs = ttlMs;
    this.#used = used;
  }

  /**
   * Seals a state for one request of one client.
   *
   * @param binding {@link bindingOf} the request
   * @throws {ToolError} TOO_LARGE when it is longer than a client must accept
   */
  seal(state: RequestState, binding: string): string {
    const [{ id, key }] = this.#keys as [{ id: Buffer; key: Buffer }];
    const payload = { ...state, binding, id: randomBytes(12).toString('base64url'), until: Date.now() + this.#ttlMs };
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(id);
    const sealed = Buffer.concat([
      id,
      iv,
      cipher.update(JSON.stringify(payload)),
      cipher.final(),
      cipher.getAuthTag(),
    ]).toString('base64url');
    if (sealed.length <= MAX_STATE_LENGTH) return sealed;
    throw new ToolError(
      'TOO_LARGE',
      `The server's requestState is too long to be forwarded: that of the gateway, which contains it, has at most ${MAX_STATE_LENGTH} characters.`,
    );
  }

  /** Opens a client's state and marks it as used. Anything but exactly what was sealed for the request is a fault. */
  async open(sealed: string, binding: string, principal: string): Promise<OpenedState> {
    const payload = this.#decrypt(sealed);
    if (!payload || payload.binding !== binding) return { fault: 'invalid', began: false };
    const { held, asked, approved, relayed, upstream, id, until } = payload as unknown as RequestState & {
      id: string;
      until: number;
    };
    const began = held !== undefined || relayed === true;
    if (!(Date.now() < until)) return { fault: 'expired', began };
    const taken = await this.#used.take(id, until, principal);
    if (taken !== true) return { fault: taken === 'full' ? 'full' : 'used', began };
    return {
      state: {
        ...(held !== undefined && { held }),
        ...(asked !== undefined && { asked }),
        ...(approved && { approved }),
        ...(relayed !== undefined && { relayed }),
        ...(upstream !== undefined && { upstream }),
      },
    };
  }

  /** Drops what is known of a client that never returns. */
  forget(principal: string): void {
    this.#used.forget(principal);
  }

  #decrypt(sealed: string): JsonObject | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < HEADER_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
    const id = bytes.subarray(0, KEY_ID_BYTES);
    const known = this.#keys.find((key) => key.id.equals(id));
    if (!known) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', known.key, bytes.subarray(KEY_ID_BYTES, HEADER_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(id).setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = Buffer.concat([decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES)), decipher.final()]);
      const payload: unknown = JSON.parse(text.toString());
      return isJsonObject(payload) ? payload : undefined;
    } catch {
      return undefined; // it was changed, or sealed with another key that has the same id
    }
  }
}

/** What a state is valid for: one client, one method, and one set of parameters. */
export function bindingOf(principal: string, method: string, params: JsonObject): string {
  return digestOf([principal, method, params]);
}

/** The digest of a JSON value, equal for equal values whatever the order of their keys. */
export function digestOf(value: unknown): string {
  const text = canonicalJson(value);
  if (text === undefined)
    throw new ToolError('INTERNAL', 'A requestState can only be bound to parameters that are JSON.');
  return createHash('sha256').update(text).digest('base64url');
}

/** Remembers used states in this process, until they expire. */
export class UsedStatesInMemory implements UsedStates {
  /** By client, the ids with the time of their expiry. */
  readonly #byClient = new Map<string, Map<string, number>>();
  readonly #max: number;

  constructor(max = MAX_USED) {
    this.#max = max;
  }

  take(id: string, expiresAt: number, principal: string): boolean | 'full' {
    const used = this.#byClient.get(principal) ?? new Map<string, number>();
    this.#byClient.set(principal, used);
    if (used.has(id)) return false;
    if (used.size >= this.#max) {
      const now = Date.now();
      for (const [known, until] of used) if (until <= now) used.delete(known);
      // Forgetting one that has not expired would let it be used again.
      if (used.size >= this.#max) return 'full';
    }
    used.set(id, expiresAt);
    return true;
  }

  forget(principal: string): void {
    this.#byClient.delete(principal);
  }
}

function deriveKey(given: unknown): { id: Buffer; key: Buffer } {
  const bytes = typeof given === 'string' ? Buffer.from(given, 'base64') : given;
  if (!(bytes instanceof Uint8Array) || bytes.length !== KEY_BYTES || bytes.every((byte) => byte === bytes[0]))
    throw keyError();
  const derived = Buffer.from(hkdfSync('sha256', bytes, '', CONTEXT, KEY_BYTES + KEY_ID_BYTES));
  return { key: derived.subarray(0, KEY_BYTES), id: derived.subarray(KEY_BYTES) };
}

function keyError(): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `createGateway(): stateKey must be ${KEY_BYTES} random bytes or their base64, or several of these.`,
  );
}
