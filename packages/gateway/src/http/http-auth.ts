// Who may speak to the HTTP listener: the Host and Origin that a request names, and the token that it brings.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ToolError } from '@toolwright/core';
import { assertOptions } from '@toolwright/core/internal';

/**
 * `'none'` lets every program of this machine in. Several tokens keep the clients that have them apart: a session belongs
 * to the token that opened it. A token is 16 or more visible characters.
 */
export type HttpAuth = 'none' | { token: string | readonly string[] };

/** The tokens of one listener, kept as hashes. */
export class BearerTokens {
  readonly #hashes: readonly Buffer[] | undefined;

  private constructor(tokens: readonly string[] | undefined) {
    this.#hashes = tokens?.map(hashOf);
  }

  /** @returns with the token that was made, where none was given. @throws {ToolError} INVALID_ARGUMENT */
  static from(auth: HttpAuth | undefined): { tokens: BearerTokens; made?: string } {
    if (auth === 'none') return { tokens: new BearerTokens(undefined) };
    if (auth === undefined) {
      const made = randomBytes(32).toString('base64url');
      return { tokens: new BearerTokens([made]), made };
    }
    if (typeof auth === 'object') assertOptions('serveHttp()', auth, { token: true }, 'auth.');
    const given: unknown = (auth as { token?: unknown }).token;
    const list: unknown[] = Array.isArray(given) ? given : [given];
    const isToken = (token: unknown): token is string => typeof token === 'string' && /^[\x21-\x7e]{16,}$/.test(token);
    if (list.length === 0 || !list.every(isToken))
      throw new ToolError('INVALID_ARGUMENT', 'auth must be "none" or { token } of 16 or more visible characters.');
    return { tokens: new BearerTokens(list) };
  }

  /** Who the bearer of this header is; undefined for nobody. Takes as long for every wrong token. */
  principalOf(authorization: string | undefined): number | undefined {
    if (!this.#hashes) return 0;
    const given = hashOf(/^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1] ?? '');
    let found: number | undefined;
    for (const [index, hash] of this.#hashes.entries()) if (timingSafeEqual(hash, given)) found = index;
    return found;
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Which names a listener is asked by. A page in a browser that was led here by its DNS names another. */
export class KnownHosts {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #pages: ReadonlySet<string>;
  /** A socket has no port, and a browser cannot reach it: names alone are looked at. */
  readonly #byNameAlone: boolean;

  /** @param port undefined for a unix socket */
  constructor(
    host: string,
    port: number | undefined,
    allowedHosts: readonly string[],
    allowedOrigins: readonly string[],
  ) {
    const names = ['localhost', '127.0.0.1', '[::1]', bracketed(host)].map((name) => name.toLowerCase());
    const withPort = names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]));
    this.#byNameAlone = port === undefined;
    const own = this.#byNameAlone ? names : withPort;
    this.#hosts = new Set([...own, ...allowedHosts.map((name) => name.toLowerCase())]);
    this.#pages = new Set(allowedOrigins.map((each) => each.toLowerCase()));
    this.#origins = new Set([...own.map((name) => `http://${name}`), ...this.#pages]);
  }

  knowsHost(host: string | undefined): boolean {
    const named = (host ?? '').toLowerCase();
    return this.#hosts.has(this.#byNameAlone ? named.replace(/:\d{1,5}$/, '') : named);
  }

  /** True for a page of another origin that the operator lets in: its browser has to be told so. */
  letsPageIn(origin: string | undefined): origin is string {
    return origin !== undefined && this.#pages.has(origin.toLowerCase());
  }

  /** A request without an Origin comes from no page. */
  knowsOrigin(origin: string | undefined): boolean {
    return origin === undefined || this.#origins.has(origin.toLowerCase());
  }
}

/** An IPv6 address as it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
