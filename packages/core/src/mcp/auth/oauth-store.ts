// Where OAuth tokens are kept: one file for this user alone, replaced as a whole, changed by one process at a time.

import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';

/** What is kept of one server. */
export interface StoredCredentials {
  clientInformation?: JsonObject;
  tokens?: JsonObject;
}

interface StoreFile {
  version: 1;
  servers: Record<string, StoredCredentials>;
}

const LOCK_WAIT_MS = 20_000;
const LOCK_POLL_MS = 25;
/** A holder does one exchange with a server; one that takes longer has died or hangs. */
const LOCK_STALE_MS = 30_000;

/** Changes in this process queue here, before the lock of the file. */
const queues = new Map<string, Promise<unknown>>();

export class OAuthStore {
  readonly #file: string;
  readonly #lockFile: string;

  constructor(file: string) {
    this.#file = file;
    this.#lockFile = `${file}.lock`;
  }

  /** @throws {ToolError} INVALID_ARGUMENT when the file holds something else */
  async read(server: string): Promise<StoredCredentials> {
    const { servers } = await this.#load();
    return Object.hasOwn(servers, server) ? (servers[server] ?? {}) : {};
  }

  /** To be called under {@link locked}. The file is on the disk when it resolves. */
  async write(server: string, credentials: StoredCredentials): Promise<void> {
    const { servers } = await this.#load();
    const content: StoreFile = { version: 1, servers: { ...servers, [server]: credentials } };
    const temporary = `${this.#file}.${randomBytes(6).toString('hex')}.tmp`;
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
      await handle.sync();
      await handle.close();
      await rename(temporary, this.#file);
    } catch (error) {
      await handle.close().catch(() => undefined); // the first failure is the one that counts
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /**
   * Runs `run` while nobody else, in this process or another, does.
   *
   * @throws {ToolError} LOCKED when another process holds the lock for too long; or what `run` throws
   */
  async locked<T>(run: () => Promise<T>): Promise<T> {
    const before = queues.get(this.#file) ?? Promise.resolve();
    const mine = before.then(() => this.#withLockFile(run));
    const tail = mine.catch(() => undefined); // told to its own caller
    queues.set(this.#file, tail);
    try {
      return await mine;
    } finally {
      if (queues.get(this.#file) === tail) queues.delete(this.#file);
    }
  }

  async #withLockFile<T>(run: () => Promise<T>): Promise<T> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const token = await this.#acquire();
    try {
      return await run();
    } finally {
      if ((await this.#holder()) === token) await rm(this.#lockFile, { force: true });
    }
  }

  async #acquire(): Promise<string> {
    const token = `${process.pid} ${randomBytes(12).toString('hex')}`;
    const until = performance.now() + LOCK_WAIT_MS;
    for (;;) {
      try {
        const handle = await open(this.#lockFile, 'wx', 0o600);
        await handle.writeFile(token);
        await handle.close();
        return token;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw ToolError.from(error, 'UNAVAILABLE');
      }
      if (performance.now() > until) {
        throw new ToolError('LOCKED', `Another process holds ${this.#lockFile}; if there is none, remove that file.`);
      }
      if (await this.#isStale()) await this.#breakLock();
      else await sleep(LOCK_POLL_MS);
    }
  }

  async #isStale(): Promise<boolean> {
    const age = await stat(this.#lockFile).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => undefined,
    );
    if (age === undefined) return false; // released meanwhile
    if (age > LOCK_STALE_MS) return true;
    const pid = Number.parseInt((await this.#holder()) ?? '', 10);
    return Number.isInteger(pid) && pid > 0 && !isRunning(pid);
  }

  /** Renamed first: of several who find it stale, one moves it, and a fresh lock that was moved by mistake is put back. */
  async #breakLock(): Promise<void> {
    const seen = await this.#holder();
    const aside = `${this.#lockFile}.${randomBytes(6).toString('hex')}`;
    try {
      await rename(this.#lockFile, aside);
    } catch {
      return; // somebody else did
    }
    const moved = await readFile(aside, 'utf8').catch(() => undefined);
    if (moved === seen) await rm(aside, { force: true });
    else await rename(aside, this.#lockFile).catch(() => undefined); // it is theirs again
  }

  #holder(): Promise<string | undefined> {
    return readFile(this.#lockFile, 'utf8').catch(() => undefined); // released meanwhile
  }

  async #load(): Promise<StoreFile> {
    let text: string;
    try {
      text = await readFile(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { version: 1, servers: {} };
      throw ToolError.from(error, 'UNAVAILABLE');
    }
    const parsed = parse(text);
    if (parsed?.version === 1 && typeof parsed.servers === 'object' && parsed.servers !== null)
      return parsed as StoreFile;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${this.#file} holds no credentials of Toolwright; name another file, or remove it.`,
    );
  }
}

function parse(text: string): { version?: unknown; servers?: unknown } | undefined {
  try {
    return JSON.parse(text) as { version?: unknown; servers?: unknown };
  } catch {
    return undefined; // told by the caller, without the text: it may hold secrets
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
