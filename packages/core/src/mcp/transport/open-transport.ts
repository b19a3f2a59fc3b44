// Creates the transport for a server's place; loads heavy modules on demand.

import { readFileSync } from 'node:fs';
import { ToolError } from '../../contract/errors.js';
import { allowedEnvironment, spawnChild } from '../../process/index.js';
import type { Engine } from '../engines/engine.js';
import { containerCommand } from './container-command.js';
import type { ResolvedOptions } from '../mcp-provider-options.js';
import { SocketTransport } from './socket-transport.js';
import { StdioTransport } from './stdio-transport.js';
import type { SessionTransport, McpTransport } from './transport.js';
import { windowsCommand } from './windows-command.js';

const REMOVE_CONTAINER_MS = 2_000;

/** What a transport may use of the attempt that opens it. */
export interface TransportContext {
  warn: (message: string) => void;
  engine: Engine;
  /** Pauses the deadline of the attempt during a sign-in. */
  clock: { pause(): void; resume(): void };
}

/** Creates the transport, without starting it. @throws {ToolError} */
export async function createTransport(
  options: ResolvedOptions,
  { warn, clock, engine }: TransportContext,
): Promise<SessionTransport> {
  const { place, maxFrameBytes, shutdownTimeoutMs } = options;
  switch (place.kind) {
    case 'stdio': {
      const { env, cwd = process.cwd() } = place;
      return new StdioTransport({
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
      return new StdioTransport({
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
      return new SocketTransport(place.path, maxFrameBytes);
    case 'http': {
      const [{ HttpTransport }, { Authorizer }] = await Promise.all([
        import('./http-transport.js'),
        import('../auth/oauth.js'),
      ]);
      const { url, headers, auth } = place;
      const authorizer = auth && new Authorizer(auth, url, clock, engine);
      return new HttpTransport({ url, headers, maxFrameBytes, authorizer, engine });
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
  // On Windows names are case-insensitive.
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
        return undefined; // not found here
      }
    },
  });
}

/** Runs a command to its end: removes a container that the engine's client left behind. */
async function runToEnd(command: string, args: readonly string[], cwd: string): Promise<void> {
  await using child = spawnChild({ command, args, cwd });
  child.stdout.resume();
  const timer = setTimeout(() => void child.end({ graceMs: 0 }), REMOVE_CONTAINER_MS);
  await child.exited.catch(() => undefined); // without an engine there is no container either
  clearTimeout(timer);
}

/** Custom transports that were already used. */
const used = new WeakSet<McpTransport>();

/** Wraps a custom transport, which need not support being closed twice. */
function closedOnce(transport: McpTransport): SessionTransport {
  if (used.has(transport)) {
    throw new ToolError(
      'UNAVAILABLE',
      'The transport was already used for a connection; set transport to a function that creates one for each.',
      { retryable: false },
    );
  }
  used.add(transport);
  let closing: Promise<void> | undefined;
  const link: SessionTransport = {
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
