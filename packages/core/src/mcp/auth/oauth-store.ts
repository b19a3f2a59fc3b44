// Stores OAuth tokens in one file that only this user can read; writes are atomic and locked across processes.

import { processExists } from '../../process/process-group.js';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';

/** The credentials for one server. */
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
/** A lock older than this is stale: its holder makes one exchange with a server, so it has died or hangs. */
const LOCK_STALE_MS = 30_000;

/** The queue of changes in this process, by file. */
const queues = new Map<string, Promise<unknown>>();

export class OAuthStore {
  readonly #file: string;
  readonly #lockFile: string;

  constructor(file: string) {
    this.#file = file;
    this.#lockFile = `${file}.lock`;
  }

  /** Reads a server's credentials. @throws {ToolError} INVALID_ARGUMENT when the file has other content */
  async read(server: string): Promise<StoredCredentials> {
    const { servers } = await this.#load();
    return Object.hasOwn(servers, server) ? (servers[server] ?? {}) : {};
  }

  /** Writes and syncs the file. Call it within {@link locked}. */
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
      await handle.close().catch(() => undefined); // the first error is reported
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /**
   * Runs `run` exclusively, across all processes.
   *
   * @throws {ToolError} LOCKED when another process holds the lock for too long; what `run` throws
   */
  async locked<T>(run: () => Promise<T>): Promise<T> {
    const before = queues.get(this.#file) ?? Promise.resolve();
    const running = before.then(() => this.#withLockFile(run));
    const tail = running.catch(() => undefined); // its caller receives the error
    queues.set(this.#file, tail);
    try {
      return await running;
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
        throw new ToolError(
          'LOCKED',
          `Another process holds the lock ${this.#lockFile}; if no other process runs, delete that file.`,
        );
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
    if (age === undefined) return false; // released
    if (age > LOCK_STALE_MS) return true;
    const pid = Number.parseInt((await this.#holder()) ?? '', 10);
    return Number.isInteger(pid) && pid > 0 && !processExists(pid);
  }

  /** Renames the lock before deleting it, so that one of several processes succeeds; puts back a new lock moved by mistake. */
  async #breakLock(): Promise<void> {
    const seen = await this.#holder();
    const aside = `${this.#lockFile}.${randomBytes(6).toString('hex')}`;
    try {
      await rename(this.#lockFile, aside);
    } catch {
      return; // another process did
    }
    const moved = await readFile(aside, 'utf8').catch(() => undefined);
    if (moved === seen) await rm(aside, { force: true });
    else await rename(aside, this.#lockFile).catch(() => undefined); // restores the other process's lock
  }

  #holder(): Promise<string | undefined> {
    return readFile(this.#lockFile, 'utf8').catch(() => undefined); // released
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
      `${this.#file} is not a credentials file of Toolwright; set another file, or delete it.`,
    );
  }
}

function parse(text: string): { version?: unknown; servers?: unknown } | undefined {
  try {
    return JSON.parse(text) as { version?: unknown; servers?: unknown };
  } catch {
    return undefined; // the caller reports it, without the text, which may contain secrets
  }
}
