// Connects a provider file, started by a host, to that host, and ends the process when the host has disconnected or died.

import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ToolError } from '@toolwright/core/internal';
import { WirePeer } from '../wire/peer.js';
import {
  NAME_VARIABLE,
  PROTOCOL_VERSION,
  REFUSED_EXIT_CODE,
  SOCKET_VARIABLE,
  TOKEN_VARIABLE,
  type RegisterParams,
  type RegisterResult,
} from '../wire/protocol.js';
import type { AnyProvider } from './provider.js';
import { ServedProvider } from './serving.js';

/** How long to retry: a host recreates a removed socket within moments. */
const CONNECT_TIMEOUT_MS = 2_000;
/** How long to retry when the host is busy. */
const BUSY_TIMEOUT_MS = 12_000;
const RETRY_MS = 50;
const GONE: ReadonlySet<unknown> = new Set(['ENOENT', 'ECONNREFUSED', 'EAGAIN']);

/**
 * Serves the provider to the host that started this process. Does nothing without a host (`TOOLWRIGHT_SOCKET` is not
 * set), so that a test can import the file, or `providerFromModule` load it. The process ends when its host closes the
 * connection or dies: its calls are aborted, and `dispose` has two seconds. The variables of the connection are removed
 * from `process.env`, so that children of the provider do not inherit them.
 */
export function startProvider(provider: AnyProvider): void {
  const path = process.env[SOCKET_VARIABLE];
  const token = process.env[TOKEN_VARIABLE];
  for (const name of [SOCKET_VARIABLE, TOKEN_VARIABLE, NAME_VARIABLE]) delete process.env[name];
  if (path === undefined || path === '' || token === undefined) return;
  serve(provider, path, token).catch((thrown: unknown) => {
    const error = ToolError.from(thrown, 'INTERNAL');
    process.stderr.write(`The provider "${provider.name}" did not start: [${error.code}] ${error.message}\n`);
    process.exit(error.details?.permanent === true ? REFUSED_EXIT_CODE : 1);
  });
}

async function serve(provider: AnyProvider, path: string, token: string): Promise<void> {
  // Detects the end of the host until there is a connection.
  const hostHasGone = (): never => process.exit(1);
  process.stdin.on('end', hostHasGone).resume();
  process.stdin.unref?.();
  const served = new ServedProvider(provider, () => process.exit(0));
  const params: RegisterParams = {
    protocol: PROTOCOL_VERSION,
    token,
    name: provider.name,
    version: provider.version,
    description: provider.description,
    tools: await served.list(),
    pid: process.pid,
    capabilities: provider.capabilities,
  };
  const startedAt = performance.now();
  for (;;) {
    try {
      await register(await connectTo(path), params, served);
      process.stdin.off('end', hostHasGone); // from here on the connection reports the end
      return;
    } catch (thrown) {
      const error = ToolError.from(thrown, 'CONNECTION_CLOSED');
      if (error.code !== 'BUSY' || performance.now() - startedAt > BUSY_TIMEOUT_MS) throw error;
      await sleep(RETRY_MS * (1 + 4 * Math.random()));
    }
  }
}

async function connectTo(path: string): Promise<Socket> {
  const startedAt = performance.now();
  for (;;) {
    const socket = connect(path);
    try {
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
      return socket;
    } catch (thrown) {
      const { code, message } = thrown as NodeJS.ErrnoException;
      if (!GONE.has(code) || performance.now() - startedAt > CONNECT_TIMEOUT_MS) {
        throw new ToolError('UNAVAILABLE', `The host's socket cannot be reached: ${message}.`, { cause: thrown });
      }
      await sleep(RETRY_MS);
    }
  }
}

/** @throws {ToolError} the host's refusal */
async function register(socket: Socket, params: RegisterParams, served: ServedProvider): Promise<void> {
  let isRegistered = false;
  await new Promise<void>((resolve, reject) => {
    const peer = new WirePeer(socket, {
      onRequest: (method, given, id) => served.onRequest(method, given, id),
      onNotification: (method, given) => served.onNotification(method, given),
      onError: reject,
      onClose: (reason) => {
        if (isRegistered) return served.onClose();
        reject(reason ?? new ToolError('CONNECTION_CLOSED', 'The host closed the connection before it answered.'));
      },
    });
    served.attach(peer);
    peer.request('provider/register', params).then((result) => {
      isRegistered = true;
      const { limits } = result as unknown as Partial<RegisterResult>;
      if (typeof limits?.maxFrameBytes === 'number') peer.maxSendBytes = limits.maxFrameBytes;
      resolve();
    }, reject);
  });
}
