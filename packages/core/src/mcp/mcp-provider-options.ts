// The options of an MCPToolProvider and their validation.

import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { ToolError } from '../contract/errors.js';
import type { Logger } from '../contract/logger.js';
import { assertOptions, copyTexts, type OptionNames, type OptionType } from '../contract/options.js';
import { nameFault } from '../tool/define-tool.js';
import type { ContainerOptions } from './transport/container-command.js';
import { containerCommand } from './transport/container-command.js';
import { DEFAULT_MAX_FRAME_BYTES } from './transport/frames.js';
import type { OAuthOptions } from './auth/oauth.js';
import type { HostOffers } from './session/server-requests.js';
import type { EngineName } from './engines/engine.js';
import type { EraStore } from './session/era-memory.js';
import { secretsOfHeaders } from '../contract/sanitize.js';
import type { McpTransport } from './transport/transport.js';

/** A server that is started as a child process, over stdio. */
export interface StdioServer {
  /** The program: an absolute path, or a name on the PATH. Never given to a shell. */
  command: string;
  /** The program's arguments. Default: none. */
  args?: readonly string[];
  /** Added to the safe part of the environment (PATH, HOME, LANG, …). Default: nothing. */
  env?: Readonly<Record<string, string>>;
  /** The working directory. Default: `projectDir`, else that of this process. */
  cwd?: string;
}

/** A server that is started in a container, over stdio. */
export interface ContainerServer {
  /** The container and how to run it. */
  container: ContainerOptions;
  /** The environment in the container; the values do not appear in a command line. Default: empty. */
  env?: Readonly<Record<string, string>>;
}

/** A running server at a unix socket or a named pipe. */
export interface SocketServer {
  /** The path of the socket or the name of the pipe. */
  socketPath: string;
}

/** A running server at a URL: over Streamable HTTP, or over SSE if it supports nothing newer. */
export interface HttpServer {
  /** The server's MCP endpoint. */
  url: string | URL;
  /** Sent with each request, for example `{ authorization: 'Bearer …' }`. Default: none. */
  headers?: Readonly<Record<string, string>>;
  /** Signs in with OAuth when the server requires it. Default: no sign-in. */
  auth?: OAuthOptions;
}

/** A server behind a transport of the MCP SDK or a custom transport. */
export interface GivenTransport {
  /** A transport, which serves one connection, or a function that creates one for each connection. */
  transport: McpTransport | (() => McpTransport | Promise<McpTransport>);
}

/** The options that all servers share. */
export interface McpServerOptions extends HostOffers {
  /** The name of the provider, and the prefix of its tools. */
  name: string;
  /** The root that is offered to the server, and the default working directory; absolute. Default: no roots. */
  projectDir?: string;
  /** More roots; absolute. Requires `projectDir`. Default: none. */
  extraRoots?: readonly string[];
  /**
   * How to treat a result that does not match the tool's output schema: `'warn'` returns it and logs a warning, `'strict'`
   * fails the call with `OUTPUT_INVALID`, `'off'` does not check. Default `'warn'`, as the tool has already run.
   */
  validateOutput?: 'warn' | 'strict' | 'off';
  /**
   * The time for starting the server until it has answered the handshake, in milliseconds; each start has it, if finding out the
   * protocol requires a second one. Default 10,000.
   */
  connectTimeoutMs?: number;
  /** The time for listing all tools, in milliseconds. Default 10,000. */
  listTimeoutMs?: number;
  /** The deadline of calls that set none, in milliseconds; progress renews it. Default 30,000. */
  callTimeoutMs?: number;
  /** The longest that progress can extend a call to, in milliseconds. Default 600,000. */
  maxTotalTimeoutMs?: number;
  /**
   * How long a server over stdio may take to exit after its stdin is closed, in milliseconds, before it is sent SIGTERM, and
   * SIGKILL 2 s later. Default 2,000, maximum 60,000.
   */
  shutdownTimeoutMs?: number;
  /** The largest message accepted from the server, in bytes. Default 16 MiB. */
  maxFrameBytes?: number;
  /**
   * Which revisions of MCP to speak: `'modern'` is 2026-07-28, `'legacy'` are the earlier ones, with `initialize`. Default
   * `'auto'`: asks the server with `server/discover`, and uses the legacy revisions if it does not answer that within 1 s. A
   * transport that serves one connection is not asked.
   */
  protocol?: 'auto' | 'legacy' | 'modern';
  /**
   * The SDK to use: `'v2'` is `@modelcontextprotocol/client`, which speaks all revisions; `'v1'` is `@modelcontextprotocol/sdk`,
   * which speaks the legacy ones. Default: v2 where it is installed, else v1.
   */
  engine?: EngineName;
  /** Remembers which revisions the servers speak. Default: in memory, for this process. */
  eraStore?: EraStore;
  /** Default: `process.emitWarning` for warnings and errors, each text once. Arguments and results are never logged. */
  logger?: Logger;
}

/** Options of {@link MCPToolProvider}. */
export type MCPToolProviderOptions = McpServerOptions &
  (StdioServer | ContainerServer | SocketServer | HttpServer | GivenTransport);

/** Where the server is; validated. */
export type ServerPlace =
  | {
      kind: 'stdio';
      command: string;
      args: readonly string[];
      cwd: string | undefined;
      env: Readonly<Record<string, string>>;
    }
  | { kind: 'container'; container: ContainerOptions; env: Readonly<Record<string, string>> }
  | { kind: 'socket'; path: string }
  | { kind: 'http'; url: URL; headers: Readonly<Record<string, string>>; auth: OAuthOptions | undefined }
  | { kind: 'given'; transport: GivenTransport['transport'] };

const PLACES = ['command', 'container', 'socketPath', 'url', 'transport'] as const;
const TIMES = [
  'connectTimeoutMs',
  'listTimeoutMs',
  'callTimeoutMs',
  'maxTotalTimeoutMs',
  'maxFrameBytes',
  'shutdownTimeoutMs',
] as const;
const SHARED: OptionNames<McpServerOptions> = {
  name: true,
  projectDir: true,
  extraRoots: true,
  validateOutput: true,
  connectTimeoutMs: true,
  listTimeoutMs: true,
  callTimeoutMs: true,
  maxTotalTimeoutMs: true,
  shutdownTimeoutMs: true,
  maxFrameBytes: true,
  protocol: true,
  engine: true,
  eraStore: true,
  logger: true,
  elicitation: true,
  sampling: true,
};
/** The options of each kind of place. */
const OF_PLACE = {
  command: { command: true, args: true, env: true, cwd: true } satisfies OptionNames<StdioServer>,
  container: { container: true, env: true } satisfies OptionNames<ContainerServer>,
  socketPath: { socketPath: true } satisfies OptionNames<SocketServer>,
  url: { url: true, headers: true, auth: true } satisfies OptionNames<HttpServer>,
  transport: { transport: true } satisfies OptionNames<GivenTransport>,
} as const;
const KNOWN: Readonly<Record<string, OptionType>> = Object.assign(
  {},
  SHARED,
  ...Object.values(OF_PLACE),
) as typeof SHARED;
const AUTH_OPTIONS: OptionNames<OAuthOptions> = {
  file: true,
  redirectUrl: true,
  authorize: true,
  clientName: true,
  scope: true,
  clientId: true,
  clientSecret: true,
  clientMetadataUrl: true,
};
const WHERE = 'new MCPToolProvider()';

/** The options with their defaults. */
export interface ResolvedOptions {
  name: string;
  place: ServerPlace;
  roots: readonly string[] | undefined;
  validateOutput: 'warn' | 'strict' | 'off';
  connectTimeoutMs: number;
  listTimeoutMs: number;
  callTimeoutMs: number;
  maxTotalTimeoutMs: number;
  maxFrameBytes: number;
  shutdownTimeoutMs: number;
  protocol: 'auto' | 'legacy' | 'modern';
  engine: EngineName | undefined;
  eraStore: EraStore | undefined;
  /** True for a custom transport that serves one connection. */
  isSingleUse: boolean;
}

/** @throws {ToolError} INVALID_ARGUMENT for the first invalid option */
export function resolveOptions(options: MCPToolProviderOptions): ResolvedOptions {
  assertOptions(WHERE, options, KNOWN);
  const given: Record<string, unknown> = { ...options };
  const fault = nameFault('name', given.name);
  if (fault) throw wrong(fault);
  for (const key of TIMES) {
    const value = given[key];
    if (value !== undefined && !(typeof value === 'number' && value > 0))
      throw wrong(`${key} must be a number above 0`);
  }
  const { projectDir, extraRoots = [], validateOutput = 'warn' } = options;
  if (!['warn', 'strict', 'off'].includes(validateOutput))
    throw wrong(`validateOutput must be 'warn', 'strict' or 'off'`);
  if (!Array.isArray(extraRoots)) throw wrong('extraRoots must be an array of absolute paths');
  if (extraRoots.length > 0 && projectDir === undefined) throw wrong('extraRoots needs projectDir');
  for (const root of [projectDir, ...(extraRoots as readonly string[])]) {
    if (root !== undefined && !(typeof root === 'string' && isAbsolute(root)))
      throw wrong(`a root must be an absolute path, not ${JSON.stringify(root)}`);
  }
  for (const handler of ['elicitation', 'sampling'] as const) {
    if (options[handler] !== undefined && typeof options[handler] !== 'function')
      throw wrong(`${handler} must be a function`);
  }
  const { protocol = 'auto', engine, eraStore } = options;
  if (!['auto', 'legacy', 'modern'].includes(protocol)) throw wrong(`protocol must be 'auto', 'legacy' or 'modern'`);
  if (engine !== undefined && !['v1', 'v2'].includes(engine)) throw wrong(`engine must be 'v1' or 'v2'`);
  if (engine === 'v1' && protocol === 'modern')
    throw wrong(`engine 'v1' does not speak the modern protocol; set engine to 'v2', or protocol to 'auto'`);
  if (eraStore !== undefined && !(typeof eraStore?.get === 'function' && typeof eraStore.set === 'function'))
    throw wrong('eraStore must be an object with the functions get and set');
  const place = placeOf(options);
  return {
    name: options.name,
    place,
    protocol,
    engine,
    eraStore,
    isSingleUse: place.kind === 'given' && typeof place.transport !== 'function',
    roots: projectDir === undefined ? undefined : [projectDir, ...(extraRoots as readonly string[])],
    validateOutput,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    listTimeoutMs: options.listTimeoutMs ?? 10_000,
    callTimeoutMs: options.callTimeoutMs ?? 30_000,
    maxTotalTimeoutMs: options.maxTotalTimeoutMs ?? 600_000,
    shutdownTimeoutMs: Math.min(options.shutdownTimeoutMs ?? 2_000, 60_000),
    maxFrameBytes: options.maxFrameBytes ?? DEFAULT_MAX_FRAME_BYTES,
  };
}

/** The secrets of a place: its environment, headers and client secret. */
export function secretsOf(place: ServerPlace): readonly string[] {
  if (place.kind === 'stdio' || place.kind === 'container') return Object.values(place.env);
  if (place.kind !== 'http') return [];
  const { clientSecret } = place.auth ?? {};
  return [...secretsOfHeaders(place.headers), ...(clientSecret === undefined ? [] : [clientSecret])];
}

/** The hash of a server's place and credentials; undefined for a custom transport, which cannot be identified. */
export function fingerprintOf(place: ServerPlace): string | undefined {
  if (place.kind === 'given') return undefined;
  const described = place.kind === 'http' ? { ...place, url: place.url.href, auth: place.auth?.file } : place;
  return createHash('sha256').update(JSON.stringify(described)).digest('base64url');
}

/** The hash of the command and arguments, or of the address; undefined for a custom transport. Without credentials. */
export function sourceHashOf(place: ServerPlace): string | undefined {
  if (place.kind === 'given') return undefined;
  const source = place.kind === 'http' ? place.url.href : { ...place, env: undefined };
  return createHash('sha256')
    .update(JSON.stringify([place.kind, source]))
    .digest('hex');
}

function placeOf(options: MCPToolProviderOptions): ServerPlace {
  const given = options as Partial<StdioServer & ContainerServer & SocketServer & HttpServer & GivenTransport> &
    McpServerOptions;
  const places = PLACES.filter((place) => given[place] !== undefined);
  if (places.length !== 1) {
    const got = places.length === 0 ? 'none' : places.join(' and ');
    throw wrong(`set exactly one of ${PLACES.join(', ')}; got ${got}`);
  }
  const [kind] = places as [(typeof PLACES)[number]];
  const stray = Object.keys(given).find(
    (key) => !(key in SHARED) && !(key in OF_PLACE[kind]) && given[key as keyof typeof given] !== undefined,
  );
  if (stray !== undefined) throw wrong(`${stray} cannot be combined with ${kind}; remove it`);
  const env = textsOf('env', given.env);
  if (given.command !== undefined) {
    const { command, args = [], cwd = given.projectDir } = given;
    if (typeof command !== 'string' || command === '') throw wrong('command must name a program');
    if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string'))
      throw wrong('args must be an array of strings');
    if ([command, ...(args as readonly string[])].some((word) => word.includes('\0')))
      throw wrong('command and args must not contain NUL');
    if (cwd !== undefined && !(typeof cwd === 'string' && isAbsolute(cwd)))
      throw wrong(`cwd must be an absolute path, not ${JSON.stringify(cwd)}`);
    return { kind: 'stdio', command, args: [...(args as readonly string[])], cwd, env };
  }
  if (given.container !== undefined) {
    containerCommand(given.container, env); // reports faults now rather than on the first call
    return { kind: 'container', container: given.container, env };
  }
  if (given.socketPath !== undefined) {
    if (typeof given.socketPath !== 'string' || given.socketPath === '') throw wrong('socketPath must be a path');
    return { kind: 'socket', path: given.socketPath };
  }
  if (given.url !== undefined) {
    const { auth } = given;
    if (auth !== undefined) assertOptions(WHERE, auth, AUTH_OPTIONS, 'auth.');
    if (
      auth !== undefined &&
      !(typeof auth.file === 'string' && isAbsolute(auth.file) && URL.canParse(auth.redirectUrl))
    ) {
      throw wrong('auth requires file, an absolute path, and redirectUrl, a URL');
    }
    return { kind: 'http', url: webAddress(given.url), headers: headersOf(given.headers), auth };
  }
  const { transport } = given as GivenTransport;
  if (typeof transport !== 'function' && typeof (transport as Partial<McpTransport> | null)?.send !== 'function')
    throw wrong('transport must be an MCP transport, or a function that creates one');
  return { kind: 'given', transport };
}

function headersOf(given: unknown): Readonly<Record<string, string>> {
  const headers = textsOf('headers', given);
  try {
    new Headers(headers);
  } catch {
    // The message of `Headers` may quote a value, which is a secret.
    const name = Object.keys(headers).find((key) => !/^[\w!#$%&'*+.^`|~-]+$/.test(key));
    const what =
      name === undefined
        ? 'a value has a line end or another character'
        : `the name ${JSON.stringify(name)} has a character`;
    throw new ToolError('INVALID_ARGUMENT', `${WHERE}: headers: ${what} that HTTP does not allow.`);
  }
  return headers;
}

function webAddress(given: string | URL): URL {
  if (!URL.canParse(String(given)))
    throw wrong(`url must be a URL such as https://host/mcp, not ${JSON.stringify(given)}`);
  const url = new URL(given);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw wrong(`url must begin with https: or http:, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '')
    throw wrong('url must not contain a user or password; set headers or auth');
  return url;
}

function textsOf(what: string, given: unknown): Readonly<Record<string, string>> {
  if (given === undefined) return {};
  const texts = copyTexts(given);
  if (!texts) throw wrong(`${what} must be an object of strings`);
  return texts;
}

function wrong(what: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `${WHERE}: ${what}.`);
}
