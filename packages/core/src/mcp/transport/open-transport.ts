// From the place of a server to a transport that is ready to be started. What is heavy is loaded here, when it is needed.

import { readFileSync } from 'node:fs';
import { ToolError } from '../../contract/errors.js';
import { allowedEnvironment, spawnChild } from '../../process/index.js';
import { containerCommand } from './container-command.js';
import type { ResolvedOptions } from '../mcp-provider-options.js';
import { SocketLink } from './socket-transport.js';
import { StdioLink } from './stdio-transport.js';
import type { LinkTransport, McpTransport } from './transport.js';
import { windowsCommand } from './windows-command.js';

const REMOVE_CONTAINER_MS = 2_000;

/** What a link may use of the attempt that opens it. */
export interface LinkContext {
  warn: (message: string) => void;
  /** The clock of the connection, which stands while a person signs in. */
  clock: { pause(): void; resume(): void };
}

/** Makes the transport; nothing is started yet. @throws {ToolError} */
export async function createLink(options: ResolvedOptions, { warn, clock }: LinkContext): Promise<LinkTransport> {
  const { place, maxFrameBytes, shutdownTimeoutMs } = options;
  switch (place.kind) {
    case 'stdio': {
      const { env, cwd = process.cwd() } = place;
      return new StdioLink({
        ...startable(place.command, place.args, env),
        cwd,
        env,
        maxFrameBytes,
        shutdownTimeoutMs,
        warn,
      });
    }
    case 'container': {
      const { env } = place;
      const { command, args, remove } = containerCommand(place.container, env);
      const cwd = options.roots?.[0] ?? process.cwd();
      const afterEnd = (): Promise<void> => runToEnd(command, remove, cwd);
      return new StdioLink({
        ...startable(command, args, env),
        cwd,
        env,
        maxFrameBytes,
        shutdownTimeoutMs,
        warn,
        afterEnd,
      });
    }
    case 'socket':
      return new SocketLink(place.path, maxFrameBytes);
    case 'http': {
      const [{ HttpLink }, { Authorizer }] = await Promise.all([
        import('./http-transport.js'),
        import('../auth/oauth.js'),
      ]);
      const { url, headers, auth } = place;
      return new HttpLink({ url, headers, maxFrameBytes, authorizer: auth && new Authorizer(auth, url, clock) });
    }
    case 'given':
      return closedOnce(typeof place.transport === 'function' ? await place.transport() : place.transport);
  }
}

function startable(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): { command: string; args: readonly string[] } {
  if (process.platform !== 'win32') return { command, args };
  const variables = Object.entries({ ...allowedEnvironment(), ...env });
  // Names have no case there.
  const valueOf = (wanted: string): string | undefined =>
    variables.findLast(([name]) => name.toUpperCase() === wanted)?.[1];
  const pathExt = valueOf('PATHEXT');
  return windowsCommand(command, args, {
    path: valueOf('PATH') ?? '',
    ...(pathExt !== undefined && { pathExt }),
    readFile: (path) => {
      try {
        return readFileSync(path, 'latin1');
      } catch {
        return undefined; // it is looked for elsewhere
      }
    },
  });
}

/** The engine's own client has ended by now; a container that it left behind is removed. */
async function runToEnd(command: string, args: readonly string[], cwd: string): Promise<void> {
  await using child = spawnChild({ command, args, cwd });
  child.stdout.resume();
  const timer = setTimeout(() => void child.end({ graceMs: 0 }), REMOVE_CONTAINER_MS);
  await child.exited.catch(() => undefined); // without an engine there is no container
  clearTimeout(timer);
}

/** Transports that were given and have served their one connection. */
const used = new WeakSet<McpTransport>();

/** A stranger's transport need not bear being closed twice. */
function closedOnce(transport: McpTransport): LinkTransport {
  if (used.has(transport)) {
    throw new ToolError(
      'UNAVAILABLE',
      'The transport has served its connection; give a function that makes one for each.',
      { retryable: false },
    );
  }
  used.add(transport);
  let closing: Promise<void> | undefined;
  const link: LinkTransport = {
    async start() {
      transport.onclose = () => link.onclose?.();
      transport.onerror = (error) => link.onerror?.(error);
      transport.onmessage = (message) => link.onmessage?.(message);
      await transport.start();
    },
    send: (message, options) => transport.send(message, options),
    close: () => (closing ??= transport.close()),
    get sessionId() {
      return transport.sessionId;
    },
    setProtocolVersion: (version) => transport.setProtocolVersion?.(version),
  };
  return link;
}
