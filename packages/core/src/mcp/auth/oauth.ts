// OAuth for HTTP servers: the SDK's flow behind our own words, with one renewal at a time for all who share the file.

import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { ToolError } from '../../contract/errors.js';
import { OAuthStore, type StoredCredentials } from './oauth-store.js';
import { plainWords, withoutSecrets } from '../tools/sanitize.js';
import { watchedBody } from '../transport/http-body.js';
import { assertFollowable } from './web-address.js';

/** How an HTTP server is signed in to. */
export interface OAuthOptions {
  /** The absolute path of the file that keeps clients and tokens, 0600. Servers, and processes, may share one. */
  file: string;
  /** Where the authorization server sends the person back to: an address that the host listens at. */
  redirectUrl: string;
  /**
   * Brings a person to `url` and resolves with the address that they were sent back to (or the bare code). The clock of
   * the connection stands meanwhile. Default: none, and a server that asks for a person is `PERMISSION_DENIED`.
   * The address was named by a server: open it without a shell.
   */
  authorize?: (url: string) => Promise<string>;
  /** Shown to the person. Default `Toolwright`. */
  clientName?: string;
  /** Asked for where the server names no scope. */
  scope?: string;
  /** A client that is registered already. Default: one is registered when it is needed. */
  clientId?: string;
  clientSecret?: string;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 10_000;

/** Signs the requests to one server, and renews what they are signed with. */
export class Authorizer {
  readonly #options: OAuthOptions;
  readonly #server: URL;
  readonly #store: OAuthStore;
  readonly #clock: { pause(): void; resume(): void };
  #asking: Promise<string> | undefined;

  /** @param clock stands still while a person is asked */
  constructor(options: OAuthOptions, server: URL, clock: { pause(): void; resume(): void }) {
    this.#options = options;
    this.#server = server;
    this.#store = new OAuthStore(options.file);
    this.#clock = clock;
  }

  /** The token to sign with, if there is one. */
  async token(): Promise<string | undefined> {
    const { tokens } = await this.#store.read(this.#server.href);
    return typeof tokens?.access_token === 'string' ? tokens.access_token : undefined;
  }

  /**
   * Gets another token than the one that was refused. Of many who ask at once, one renews it and the others take that.
   *
   * @param refusal the server's 401
   * @throws {ToolError} PERMISSION_DENIED when it cannot be had
   */
  async renew(refusal: Response, rejected: string | undefined): Promise<void> {
    const { auth, extractWWWAuthenticateParams } = await import('@modelcontextprotocol/sdk/client/auth.js');
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(refusal);
    const flow = {
      serverUrl: this.#server,
      fetchFn: this.#fetch,
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      ...(scope !== undefined && { scope }),
    };
    let session: ClientSession | undefined;
    const run = async (authorizationCode?: string): Promise<'AUTHORIZED' | 'REDIRECT'> => {
      const credentials = await this.#store.read(this.#server.href);
      if (credentials.tokens?.access_token !== undefined && credentials.tokens.access_token !== rejected)
        return 'AUTHORIZED';
      session = new ClientSession(
        this.#options,
        credentials,
        (changed) => this.#store.write(this.#server.href, changed),
        session,
      );
      return auth(session, { ...flow, ...(authorizationCode !== undefined && { authorizationCode }) });
    };
    try {
      if ((await this.#store.locked(() => run())) === 'AUTHORIZED') return;
      // The lock is not held while a person is asked: others may go on with what they have.
      const code = await (this.#asking ??= this.#ask(session as unknown as ClientSession).finally(
        () => (this.#asking = undefined),
      ));
      await this.#store.locked(() => run(code));
    } catch (thrown) {
      if (ToolError.isInstance(thrown)) throw thrown;
      const known = [this.#options.clientSecret, rejected, ...(session?.secrets ?? [])].filter(
        (each) => each !== undefined,
      );
      const words = plainWords(withoutSecrets(thrown instanceof Error ? thrown.message : String(thrown), known), 300);
      throw new ToolError('PERMISSION_DENIED', `Signing in to ${this.#server.origin} failed: ${words}`, {
        cause: thrown,
      });
    }
  }

  async #ask({ authorizationUrl, sentState }: ClientSession): Promise<string> {
    if (!authorizationUrl) throw new ToolError('INTERNAL', 'There is no address to authorize at.');
    const url = assertFollowable(authorizationUrl, this.#server);
    const { authorize } = this.#options;
    if (!authorize) {
      throw new ToolError(
        'PERMISSION_DENIED',
        `${this.#server.origin} wants a person to sign in; give auth.authorize, or sign in beforehand with the same auth.file.`,
      );
    }
    this.#clock.pause();
    try {
      return codeFrom(await authorize(url.href), sentState);
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

/** What the SDK's flow reads and writes, of one round of it. */
class ClientSession implements OAuthClientProvider {
  authorizationUrl: URL | undefined;
  readonly sentState = randomBytes(24).toString('base64url');
  readonly #options: OAuthOptions;
  readonly #write: (credentials: StoredCredentials) => Promise<void>;
  #credentials: StoredCredentials;
  #verifier: string | undefined;

  /** @param before the round that asked the person, whose verifier the code needs */
  constructor(
    options: OAuthOptions,
    credentials: StoredCredentials,
    write: (credentials: StoredCredentials) => Promise<void>,
    before: ClientSession | undefined,
  ) {
    this.#options = options;
    this.#credentials = credentials;
    this.#write = write;
    this.#verifier = before ? before.#verifier : undefined;
  }

  get redirectUrl(): string {
    return this.#options.redirectUrl;
  }

  get clientMetadata(): OAuthClientMetadata {
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

  clientInformation(): OAuthClientInformationMixed | undefined {
    const { clientId, clientSecret } = this.#options;
    if (clientId !== undefined) {
      // The first authorization server that took it is the only one that gets it.
      const { client_id: known, issuer } = (this.#credentials.clientInformation ??
        {}) as OAuthClientInformationMixed & { issuer?: string };
      return {
        client_id: clientId,
        ...(clientSecret !== undefined && { client_secret: clientSecret }),
        ...(known === clientId && issuer !== undefined && { issuer }),
      };
    }
    return this.#credentials.clientInformation as OAuthClientInformationMixed | undefined;
  }

  saveClientInformation(clientInformation: OAuthClientInformationMixed): Promise<void> {
    return this.#save({ ...this.#credentials, clientInformation: clientInformation });
  }

  tokens(): OAuthTokens | undefined {
    return this.#credentials.tokens as OAuthTokens | undefined;
  }

  /** What its words to the server hold in confidence. */
  get secrets(): string[] {
    const { access_token: access, refresh_token: refresh } = this.#credentials.tokens ?? {};
    const { client_secret: secret } = (this.#credentials.clientInformation ?? {}) as { client_secret?: string };
    return [access, refresh, secret, this.#verifier].filter((each) => typeof each === 'string');
  }

  saveTokens(tokens: OAuthTokens): Promise<void> {
    // A server that does not rotate its refresh token does not repeat it.
    const before = this.#credentials.tokens as (OAuthTokens & { issuer?: string }) | undefined;
    const isSameIssuer = before?.issuer === (tokens as { issuer?: string }).issuer;
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
    if (this.#verifier === undefined) throw new ToolError('INTERNAL', 'There is no code verifier.');
    return this.#verifier;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    const { clientInformation, tokens } = this.#credentials;
    if (scope === 'verifier') this.#verifier = undefined;
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

/** @throws {ToolError} PERMISSION_DENIED for a refusal, or an answer to another question */
function codeFrom(answer: string, state: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\//i.test(answer)) return answer;
  const { searchParams } = new URL(answer);
  const code = searchParams.get('code');
  if (code !== null && sameText(searchParams.get('state') ?? '', state)) return code;
  const error = searchParams.get('error');
  throw new ToolError(
    'PERMISSION_DENIED',
    error === null
      ? 'The answer to the sign-in has another state or no code.'
      : `The sign-in was refused: ${plainWords(error, 100)}.`,
  );
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
