// The one socket of a host that its provider processes connect to. A connection has fifteen seconds to present the
// token of a spawned process; at most 64 connections may be unregistered. What a registered provider does is handled
// elsewhere.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { ToolError, type JsonObject } from '@toolwright/core';
import { assertOptions, DEFAULT_MAX_FRAME_BYTES, type OptionNames } from '@toolwright/core/internal';
import { MAX_DEPTH, MAX_FRAME_BYTES_CEILING } from './framing.js';
import { WirePeer } from './peer.js';
import { RPC, type ProviderSettings, type RegisterResult } from './protocol.js';
import { parseRegistration, type Registration } from './registration.js';
import { RpcError } from './wire-error.js';
import { DEFAULT_MAX_QUEUE_BYTES } from './send-queue.js';
import { bindPrivately, type BoundSocket } from './socket-path.js';

/** Limits of a {@link ProviderListener}. Values out of range are set to the nearest bound. */
export interface ListenerOptions {
  /** Connections that have not registered; one more gets `BUSY`. 1 to 1,000. Default 64. */
  maxUnregistered?: number;
  /** The time from connecting to registering, in milliseconds. 100 to 60,000. Default 15,000. */
  handshakeTimeoutMs?: number;
  /** Connections that the system queues before they are accepted. 1 to 2,048. Default 128. */
  backlog?: number;
  /** The largest accepted frame; one of four times the size ends its connection. 64 KiB to 128 MiB. Default 16 MiB. */
  maxFrameBytes?: number;
  /** The most bytes that may wait to be sent on one connection. 64 KiB to 256 MiB. Default 16 MiB. */
  maxQueueBytes?: number;
  /** Where the directory of the socket is created. Default: the system's directory for temporary files. */
  directory?: string;
}

const LISTENER_OPTIONS: OptionNames<ListenerOptions> = {
  maxUnregistered: true,
  handshakeTimeoutMs: true,
  backlog: true,
  maxFrameBytes: true,
  maxQueueBytes: true,
  directory: true,
};

/** A registered process. */
export interface RegisteredPeer {
  readonly peer: WirePeer;
  readonly registration: Registration;
}

/** A reservation for one spawned process. */
export interface Expectation {
  readonly socketPath: string;
  /** 256 random bits, valid once. */
  readonly token: string;
  /** Rejects when the process sends a wrong registration. Never settles when it does not register. */
  readonly registered: Promise<RegisteredPeer>;
  /** Releases the reservation; the last one closes the socket. Idempotent. */
  release(): Promise<void>;
}

interface Expected {
  name: string;
  tokenDigest: Buffer;
  welcome: ProviderSettings & { previousState: JsonObject | null };
  accept: (registered: RegisteredPeer) => void;
  refuse: (error: ToolError) => void;
}

/** The error for a registered provider that registers again; its connection and its calls continue. */
export const REGISTERED_ALREADY = 'The provider is already registered; send provider/register only once.';

/** How often the existence of the socket's file is checked while a process is expected. */
const LOOK_MS = 200;

const clamp = (value: number | undefined, low: number, fallback: number, high: number): number =>
  value === undefined || Number.isNaN(value) ? fallback : Math.min(high, Math.max(low, value));

/** Listens at a unix socket for the connections of provider processes. */
export class ProviderListener {
  readonly #limits: Required<Omit<ListenerOptions, 'directory'>>;
  readonly #directory: string | undefined;
  readonly #expected = new Set<Expected>();
  readonly #unregistered = new Set<WirePeer>();
  readonly #sockets = new Set<Socket>();
  #holders = 0;
  #bound: { server: Server; socket: BoundSocket } | undefined;
  /** Opening, closing and repairing run one after the other. */
  #work: Promise<unknown> = Promise.resolve();
  #look: NodeJS.Timeout | undefined;

  constructor(options: ListenerOptions = {}) {
    assertOptions('new ProviderListener()', options, LISTENER_OPTIONS);
    this.#limits = {
      maxUnregistered: clamp(options.maxUnregistered, 1, 64, 1_000),
      handshakeTimeoutMs: clamp(options.handshakeTimeoutMs, 100, 15_000, 60_000),
      backlog: clamp(options.backlog, 1, 128, 2_048),
      maxFrameBytes: clamp(options.maxFrameBytes, 64 * 1024, DEFAULT_MAX_FRAME_BYTES, MAX_FRAME_BYTES_CEILING),
      maxQueueBytes: clamp(options.maxQueueBytes, 64 * 1024, DEFAULT_MAX_QUEUE_BYTES, 256 * 1024 * 1024),
    };
    this.#directory = options.directory;
  }

  /** Where it listens; undefined while no process is expected or connected. */
  get socketPath(): string | undefined {
    return this.#bound?.socket.path;
  }

  /** Connections that have not registered. */
  get unregistered(): number {
    return this.#unregistered.size;
  }

  /**
   * Reserves a place for one process, and listens first if necessary.
   *
   * @param welcome the response to the process's registration
   * @throws {ToolError} when no socket can be created that only this user can connect to
   */
  async expect(name: string, welcome: Expected['welcome']): Promise<Expectation> {
    this.#holders++;
    let socketPath: string;
    try {
      socketPath = await this.#inTurn(() => this.#ensureOpen());
    } catch (error) {
      await this.#letGo();
      throw error;
    }
    const token = randomBytes(32).toString('hex');
    let expected: Expected | undefined;
    const registered = new Promise<RegisteredPeer>((accept, refuse) => {
      expected = { name, tokenDigest: digestOf(token), welcome, accept, refuse };
    });
    registered.catch(() => undefined); // the caller awaits it if it wants to
    this.#expected.add(expected as Expected);
    this.#lookAgain();
    let released: Promise<void> | undefined;
    return {
      socketPath,
      token,
      registered,
      release: () => {
        this.#expected.delete(expected as Expected);
        return (released ??= this.#letGo());
      },
    };
  }

  // The socket.

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#work.then(task);
    this.#work = turn.catch(() => undefined); // reported to its own caller
    return turn;
  }

  async #ensureOpen(): Promise<string> {
    if (this.#bound?.socket.isThere()) return this.#bound.socket.path;
    const before = this.#bound;
    const server = createServer((socket) => this.#welcome(socket));
    // A socket whose file was removed is created again at its path, which expected processes know.
    const place = before?.socket.vacantDirectory();
    const { backlog } = this.#limits;
    const socket = await bindPrivately(server, { backlog, base: this.#directory, directory: place });
    server.on('error', () => undefined); // accept() failed, for example without free descriptors; the next one may succeed
    server.unref();
    this.#bound = { server, socket };
    if (before) before.server.close();
    else process.on('exit', this.#onExit);
    return socket.path;
  }

  readonly #onExit = (): void => this.#bound?.socket.remove();

  /** Runs while a process is expected, so that a file that is removed meanwhile is replaced within moments. */
  #lookAgain(): void {
    if (this.#look || this.#expected.size === 0) return;
    this.#look = setTimeout(() => {
      this.#look = undefined;
      if (this.#expected.size === 0) return;
      if (!this.#bound || this.#bound.socket.isThere()) return this.#lookAgain();
      void this.#inTurn(() => this.#ensureOpen())
        .catch(() => undefined) // tried again at the next check, and reported by the next expect()
        .then(() => this.#lookAgain());
    }, LOOK_MS);
    this.#look.unref();
  }

  async #letGo(): Promise<void> {
    this.#holders--;
    if (this.#expected.size === 0) {
      clearTimeout(this.#look);
      this.#look = undefined;
    }
    if (this.#holders > 0) return;
    await this.#inTurn(async () => {
      const bound = this.#bound;
      if (this.#holders > 0 || !bound) return;
      this.#bound = undefined;
      process.off('exit', this.#onExit);
      const closed = new Promise((resolve) => bound.server.close(resolve));
      for (const socket of this.#sockets) socket.destroy(); // no longer used by anyone
      await closed;
      bound.socket.remove();
    });
  }

  // Connections.

  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const { maxUnregistered, handshakeTimeoutMs } = this.#limits;
    let isRegistered = false;
    const timer = setTimeout(() => {
      peer.refuse(new ToolError('TIMED_OUT', `Nothing was registered within ${handshakeTimeoutMs} ms.`));
    }, handshakeTimeoutMs);
    timer.unref();
    const forget = (): void => {
      clearTimeout(timer);
      this.#unregistered.delete(peer);
    };
    const peer: WirePeer = new WirePeer(
      socket,
      {
        onRequest: (method, params) => {
          if (method !== 'provider/register' || isRegistered) {
            if (isRegistered) throw new ToolError('PROTOCOL_VIOLATION', REGISTERED_ALREADY);
            const fault = `The first message must be provider/register, not ${method.slice(0, 80)}.`;
            throw this.#closeAfter(peer, new ToolError('PROTOCOL_VIOLATION', fault));
          }
          const expected = this.#findByToken(params.token);
          if (!expected) {
            const words = 'The registration token is wrong or was already used.';
            throw this.#closeAfter(peer, new ToolError('PROTOCOL_VIOLATION', words, { details: { permanent: true } }));
          }
          this.#expected.delete(expected);
          let registration: Registration;
          try {
            registration = parseRegistration(params, expected.name);
          } catch (thrown) {
            const error = ToolError.from(thrown, 'PROTOCOL_VIOLATION');
            expected.refuse(error);
            throw this.#closeAfter(peer, error);
          }
          isRegistered = true;
          forget();
          expected.accept({ peer, registration });
          return this.#resultFor(expected, params.protocol as number);
        },
        onNotification: () => undefined,
        onClose: forget,
      },
      this.#limits,
    );
    if (this.#unregistered.size >= maxUnregistered) {
      clearTimeout(timer);
      return peer.refuse(new ToolError('BUSY', `${maxUnregistered} connections have not registered yet; try again.`));
    }
    this.#unregistered.add(peer);
  }

  #resultFor({ welcome }: Expected, protocol: number): RegisterResult {
    return { protocol, ...welcome, limits: { maxFrameBytes: this.#limits.maxFrameBytes, maxDepth: MAX_DEPTH } };
  }

  /** Compares with every expected token in constant time. */
  #findByToken(token: unknown): Expected | undefined {
    const digest = digestOf(typeof token === 'string' ? token : '');
    let found: Expected | undefined;
    for (const expected of this.#expected) if (timingSafeEqual(digest, expected.tokenDigest)) found = expected;
    return found;
  }

  /** Sends the error as the response, then closes the connection. */
  #closeAfter(peer: WirePeer, error: ToolError): ToolError {
    setImmediate(() => peer.close(error));
    return error;
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

let shared: ProviderListener | undefined;

/** The listener of this process. */
export function sharedListener(): ProviderListener {
  return (shared ??= new ProviderListener());
}

/** A request that a host does not answer. */
export function unknownMethod(method: string): RpcError {
  return new RpcError(RPC.methodNotFound, `Unknown method "${method.slice(0, 80)}".`);
}
