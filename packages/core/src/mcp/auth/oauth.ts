// OAuth for HTTP servers: runs the SDK's flow, with one renewal at a time among all processes that share the file.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';
import { OAuthStore, type StoredCredentials } from './oauth-store.js';
import { plainText, withoutSecrets } from '../../contract/sanitize.js';
import type { Engine, EngineOAuthProvider, EngineOAuthRun } from '../engines/engine.js';
import { watchedBody } from '../transport/http-body.js';
import { assertFollowable } from './web-address.js';

/** How to sign in to an HTTP server with OAuth. */
export interface OAuthOptions {
  /** The absolute path of the file for clients and tokens (mode 0600). Servers and processes may share one. */
  file: string;
  /** The redirect URL, at which the host listens. */
  redirectUrl: string;
  /**
   * Opens `url` for a person to sign in, and resolves with the URL that they were redirected to, or with the code. The deadlines
   * of the connection and of waiting calls are paused meanwhile. A server chose `url`: open it without a shell. Default: none;
   * a sign-in that needs a person fails with `PERMISSION_DENIED`.
   */
  authorize?: (url: string) => Promise<string>;
  /** The client name that the person sees. Default `Toolwright`. */
  clientName?: string;
  /** The scope to request if the server names none. Default: none. */
  scope?: string;
  /** The id of a registered client. Default: a client is registered dynamically. */
  clientId?: string;
  /** The secret of the registered client. Default: none. */
  clientSecret?: string;
  /**
   * The `https` URL of the client's metadata document, which is the client id where the authorization server supports that.
   * Default: a client is registered dynamically.
   */
  clientMetadataUrl?: string;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 10_000;

/** Provides and renews the access token for one server. */
export class Authorizer {
  readonly #options: OAuthOptions;
  readonly #server: URL;
  readonly #store: OAuthStore;
  readonly #clock: { pause(): void; resume(): void };
  readonly #engine: Engine;
  #signingIn: Promise<SignInAnswer> | undefined;

  /** @param clock paused while a person signs in */
  constructor(options: OAuthOptions, server: URL, clock: { pause(): void; resume(): void }, engine: Engine) {
    this.#engine = engine;
    this.#options = options;
    this.#server = server;
    this.#store = new OAuthStore(options.file);
    this.#clock = clock;
  }

  /** The access token, if there is one. */
  async token(): Promise<string | undefined> {
    const { tokens } = await this.#store.read(this.#server.href);
    return typeof tokens?.access_token === 'string' ? tokens.access_token : undefined;
  }

  /**
   * Replaces a token that was rejected. Concurrent callers share one renewal.
   *
   * @param refusal the server's 401 response; or 403, when the token lacks a scope that it names
   * @throws {ToolError} PERMISSION_DENIED when no new token can be obtained
   */
  async renew(refusal: Response, rejected: string | undefined): Promise<void> {
    const flow: EngineOAuthRun = { serverUrl: this.#server, refusal, fetchFn: this.#fetch };
    const isStepUp = refusal.status === 403;
    let session: ClientSession | undefined;
    const run = async (answer?: SignInAnswer): Promise<'AUTHORIZED' | 'REDIRECT'> => {
      const credentials = await this.#store.read(this.#server.href);
      if (credentials.tokens?.access_token !== undefined && credentials.tokens.access_token !== rejected)
        return 'AUTHORIZED';
      session = new ClientSession(
        this.#options,
        credentials,
        (changed) => this.#store.write(this.#server.href, changed),
        session,
        isStepUp,
      );
      const scope = isStepUp ? joinedScope(credentials.tokens?.scope, scopeOf(refusal)) : undefined;
      return this.#engine.authorize(session, { ...flow, answer, scope });
    };
    try {
      if ((await this.#store.locked(() => run())) === 'AUTHORIZED') return;
      // The lock is released while a person signs in, so that others can use their tokens.
      const answer = await (this.#signingIn ??= this.#signIn(session as unknown as ClientSession).finally(
        () => (this.#signingIn = undefined),
      ));
      await this.#store.locked(() => run(answer));
    } catch (thrown) {
      if (ToolError.isInstance(thrown)) throw thrown;
      const known = [this.#options.clientSecret, rejected, ...(session?.secrets ?? [])].filter(
        (secret) => secret !== undefined,
      );
      const text = plainText(withoutSecrets(thrown instanceof Error ? thrown.message : String(thrown), known), 300);
      throw new ToolError('PERMISSION_DENIED', `Signing in to ${this.#server.origin} failed: ${text}`, {
        cause: thrown,
      });
    }
  }

  async #signIn({ authorizationUrl, sentState }: ClientSession): Promise<SignInAnswer> {
    if (!authorizationUrl) throw new ToolError('INTERNAL', 'The SDK provided no authorization URL.');
    const url = assertFollowable(authorizationUrl, this.#server);
    const { authorize } = this.#options;
    if (!authorize) {
      throw new ToolError(
        'PERMISSION_DENIED',
        `${this.#server.origin} requires a person to sign in; set auth.authorize, or sign in beforehand with the same auth.file.`,
      );
    }
    this.#clock.pause();
    try {
      return answerFrom(await authorize(url.href), sentState);
    } finally {
      this.#clock.resume();
    }
  }

  readonly #fetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const url = assertFollowable(input, this.#server);
    const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    return watchedBody(response, { maxMessageBytes: MAX_ANSWER_BYTES, onEnd: () => undefined });
  };
}

/** The state of one run of the SDK's flow. */
class ClientSession implements EngineOAuthProvider {
  authorizationUrl: URL | undefined;
  readonly sentState = randomBytes(24).toString('base64url');
  readonly #options: OAuthOptions;
  readonly #write: (credentials: StoredCredentials) => Promise<void>;
  /** True for a sign-in for more scopes, which a refresh of the current token cannot obtain. */
  readonly #isStepUp: boolean;
  #credentials: StoredCredentials;
  #verifier: string | undefined;
  #discovery: JsonObject | undefined;

  /** @param before the run that started the sign-in, whose verifier the code needs */
  constructor(
    options: OAuthOptions,
    credentials: StoredCredentials,
    write: (credentials: StoredCredentials) => Promise<void>,
    before: ClientSession | undefined,
    isStepUp: boolean,
  ) {
    this.#isStepUp = isStepUp;
    this.#options = options;
    this.#credentials = credentials;
    this.#write = write;
    this.#verifier = before ? before.#verifier : undefined;
    this.#discovery = before ? before.#discovery : undefined;
  }

  get redirectUrl(): string {
    return this.#options.redirectUrl;
  }

  get clientMetadataUrl(): string | undefined {
    return this.#options.clientMetadataUrl;
  }

  get clientMetadata(): JsonObject {
    const { clientName = 'Toolwright', redirectUrl, scope, clientSecret } = this.#options;
    return {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: clientSecret === undefined ? 'none' : 'client_secret_post',
      ...(scope !== undefined && { scope }),
    };
  }

  state(): string {
    return this.sentState;
  }

  clientInformation(): JsonObject | undefined {
    const { clientId, clientSecret } = this.#options;
    if (clientId !== undefined) {
      // Only the first authorization server that accepted the client receives it.
      const { client_id: known, issuer } = this.#credentials.clientInformation ?? {};
      return {
        client_id: clientId,
        ...(clientSecret !== undefined && { client_secret: clientSecret }),
        ...(known === clientId && issuer !== undefined && { issuer }),
      };
    }
    return this.#credentials.clientInformation;
  }

  saveClientInformation(clientInformation: JsonObject): Promise<void> {
    return this.#save({ ...this.#credentials, clientInformation });
  }

  tokens(): JsonObject | undefined {
    return this.#isStepUp ? undefined : this.#credentials.tokens;
  }

  /** The secrets of this run, for redaction. */
  get secrets(): string[] {
    const { access_token: access, refresh_token: refresh } = this.#credentials.tokens ?? {};
    const { client_secret: secret } = (this.#credentials.clientInformation ?? {}) as { client_secret?: string };
    return [access, refresh, secret, this.#verifier].filter((secret) => typeof secret === 'string');
  }

  saveTokens(tokens: JsonObject): Promise<void> {
    // A server that does not rotate refresh tokens does not send the token again.
    const before = this.#credentials.tokens;
    const isSameIssuer = before?.issuer === tokens.issuer;
    const refreshToken = tokens.refresh_token ?? (isSameIssuer ? before?.refresh_token : undefined);
    return this.#save({
      ...this.#credentials,
      tokens: { ...tokens, ...(refreshToken !== undefined && { refresh_token: refreshToken }) },
    });
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    if (this.#verifier === undefined) throw new ToolError('INTERNAL', 'The code verifier is missing.');
    return this.#verifier;
  }

  discoveryState(): JsonObject | undefined {
    return this.#discovery;
  }

  /** Kept for the second run, so that the code is redeemed at the authorization server that issued it. */
  saveDiscoveryState(state: JsonObject): void {
    this.#discovery = state;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    const { clientInformation, tokens } = this.#credentials;
    if (scope === 'verifier') this.#verifier = undefined;
    if (scope === 'discovery' || scope === 'all') this.#discovery = undefined;
    return this.#save({
      ...(clientInformation && scope !== 'all' && scope !== 'client' && { clientInformation }),
      ...(tokens && scope !== 'all' && scope !== 'tokens' && { tokens }),
    });
  }

  async #save(credentials: StoredCredentials): Promise<void> {
    this.#credentials = credentials;
    await this.#write(credentials);
  }
}

/** True for a response that requires more scopes than the token has. https://www.rfc-editor.org/rfc/rfc6750#section-3.1 */
export function lacksScope({ status, headers }: Response): boolean {
  return status === 403 && /error="?insufficient_scope/i.test(headers.get('www-authenticate') ?? '');
}

/** The scopes that a response requires. */
function scopeOf({ headers }: Response): string {
  return /\bscope="([^"]*)"/i.exec(headers.get('www-authenticate') ?? '')?.[1] ?? '';
}

/** The granted scopes and the required ones, so that the sign-in loses none; undefined for no scope. */
function joinedScope(granted: unknown, required: string): string | undefined {
  const scopes = `${typeof granted === 'string' ? granted : ''} ${required}`
    .split(/\s+/)
    .filter((scope) => scope !== '');
  return scopes.length > 0 ? [...new Set(scopes)].join(' ') : undefined;
}

/** The answer of a sign-in. */
type SignInAnswer = NonNullable<EngineOAuthRun['answer']>;

/** The answer in a redirect URL. @throws {ToolError} PERMISSION_DENIED for a refusal, or a different state */
function answerFrom(answer: string, state: string): SignInAnswer {
  if (!/^[a-z][a-z0-9+.-]*:\//i.test(answer)) return { code: answer };
  const { searchParams } = new URL(answer);
  const code = searchParams.get('code');
  if (code !== null && sameText(searchParams.get('state') ?? '', state))
    return { code, issuer: searchParams.get('iss') ?? undefined };
  const error = searchParams.get('error');
  throw new ToolError(
    'PERMISSION_DENIED',
    error === null
      ? 'The redirect of the sign-in has a different state or no code.'
      : `The sign-in was refused: ${plainText(error, 100)}.`,
  );
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
