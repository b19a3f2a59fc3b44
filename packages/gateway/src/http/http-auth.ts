// Who may send requests to the HTTP listener: checks Host, Origin and the bearer token.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ToolError } from '@toolwright/core';
import { assertOptions } from '@toolwright/core/internal';

/**
 * `'none'` admits every program of this machine. Several tokens separate their clients: a session belongs to the token that
 * opened it. A token is 16 or more visible ASCII characters.
 */
export type HttpAuth = 'none' | { token: string | readonly string[] };

/** The tokens of one listener, stored as hashes. */
export class BearerTokens {
  readonly #hashes: readonly Buffer[] | undefined;

  private constructor(tokens: readonly string[] | undefined) {
    this.#hashes = tokens?.map(hashOf);
  }

  /** Parses `auth`; generates a token when it is undefined. @throws {ToolError} INVALID_ARGUMENT */
  static from(auth: HttpAuth | undefined): { tokens: BearerTokens; generated?: string } {
    if (auth === 'none') return { tokens: new BearerTokens(undefined) };
    if (auth === undefined) {
      const generated = randomBytes(32).toString('base64url');
      return { tokens: new BearerTokens([generated]), generated };
    }
    if (typeof auth === 'object') assertOptions('serveHttp()', auth, { token: true }, 'auth.');
    const { token } = auth as { token?: unknown };
    const list: unknown[] = Array.isArray(token) ? token : [token];
    const isToken = (item: unknown): item is string => typeof item === 'string' && /^[\x21-\x7e]{16,}$/.test(item);
    if (list.length === 0 || !list.every(isToken))
      throw new ToolError(
        'INVALID_ARGUMENT',
        'serveHttp(): auth must be "none" or { token } with a token of 16 or more visible ASCII characters, or several.',
      );
    return { tokens: new BearerTokens(list) };
  }

  /** Names the clients with this token, the same in every process that has the token; it does not reveal it. */
  nameOf(index: number): string {
    const hash = this.#hashes?.[index];
    return hash ? `token:${createHash('sha256').update(hash).digest('base64url')}` : 'anonymous';
  }

  /** The index of the token in this header; undefined when it is not valid. Takes the same time for every token. */
  principalOf(authorization: string | undefined): number | undefined {
    if (!this.#hashes) return 0;
    const received = hashOf(/^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1] ?? '');
    let found: number | undefined;
    for (const [index, hash] of this.#hashes.entries()) if (timingSafeEqual(hash, received)) found = index;
    return found;
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The Host and Origin values that a listener accepts. Others are rejected: they may come from DNS rebinding. */
export class AllowedHosts {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  /** The origins that the options add. */
  readonly #pages: ReadonlySet<string>;
  /** For a unix socket, which has no port and which no browser can reach. */
  readonly #ignoresPort: boolean;

  /** @param port undefined for a unix socket */
  constructor(
    host: string,
    port: number | undefined,
    allowedHosts: readonly string[],
    allowedOrigins: readonly string[],
  ) {
    const names = ['localhost', '127.0.0.1', '[::1]', bracketed(host)].map((name) => name.toLowerCase());
    const withPort = names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]));
    this.#ignoresPort = port === undefined;
    const defaults = this.#ignoresPort ? names : withPort;
    this.#hosts = new Set([...defaults, ...allowedHosts.map((name) => name.toLowerCase())]);
    this.#pages = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
    this.#origins = new Set([...defaults.map((name) => `http://${name}`), ...this.#pages]);
  }

  /** True when a request may have this Host. */
  allowsHost(host: string | undefined): boolean {
    const name = (host ?? '').toLowerCase();
    return this.#hosts.has(this.#ignoresPort ? name.replace(/:\d{1,5}$/, '') : name);
  }

  /** True for an origin of `allowedOrigins`: its requests need CORS headers. */
  needsCors(origin: string | undefined): origin is string {
    return origin !== undefined && this.#pages.has(origin.toLowerCase());
  }

  /** True when a request may have this Origin. A request without one does not come from a web page. */
  allowsOrigin(origin: string | undefined): boolean {
    return origin === undefined || this.#origins.has(origin.toLowerCase());
  }
}

/** A host as it is written in a URL: an IPv6 address in brackets. */
export function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
