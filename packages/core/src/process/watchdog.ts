// Ends every process when the host ends for any reason: a small process holds the other end of a pipe, and ends what is left
// when the pipe closes. This is the host's side; watchdog-script.ts is the process.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { messageOf } from '../contract/errors.js';
import { journalPlace, type JournalPlace } from './journal.js';
import type { ProcessGroup } from './process-group.js';
import { startOf } from './stray-processes.js';
import { HOST_MARK_VARIABLE, WATCHDOG_SCRIPT } from './watchdog-script.js';

/** The watchdog runs a few system programs, which a project or a user cannot replace there. */
const SYSTEM_PATH = '/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin';
/** A watchdog that reads nothing for this long is stopped, and is replaced. */
const STALLED_MS = 2_000;
/** A watchdog that ran for less counts as short-lived. After some in a row, the next is delayed. */
const MIN_LIFETIME_MS = 1_000;
const MAX_SHORT_RUNS = 3;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
/** How many groups without a leader are checked when a program is started. */
const REVIEWED_GROUPS = 16;

interface Link {
  readonly socket: Duplex;
  readonly since: number;
  /** Known shortly after its start. */
  process: { pid: number; start: number } | undefined;
  /** Lines written, and those of them that the pipe has accepted. */
  written: number;
  accepted: number;
  stalling: NodeJS.Timeout | undefined;
}

/** A group that the watchdog watches. */
interface Watched {
  readonly group: ProcessGroup;
  readonly start: number;
  leaderless: boolean;
}

/**
 * The watchdog of this thread, whose programs end with the thread. It is started before the first program, is not a child
 * process, does not keep the event loop alive or the host's files open, and is replaced when it ends or is stopped. If it
 * cannot be started, programs are started all the same, and one warning is emitted.
 */
export class Watchdog {
  /** Set in the environment of every program, to find it when the host ends before its pid is known. */
  readonly mark = randomBytes(16).toString('hex');
  readonly #shell: string;
  readonly #groups = new Map<number, Watched>();
  /** Groups whose leader has exited, so that no event reports their end. */
  readonly #leaderless = new Set<Watched>();
  #link: Link | undefined;
  #journal: { readonly place: JournalPlace | undefined } | undefined;
  #failures = 0;
  #shortRuns = 0;
  #retryAt = 0;
  #warned = false;

  /** @param shell the shell that runs it. Default: `/bin/sh` */
  constructor(shell = '/bin/sh') {
    this.#shell = shell;
  }

  /** To be called before each program is started. Never throws. */
  ensure(): void {
    if (this.#link || process.platform === 'win32' || performance.now() < this.#retryAt) return;
    this.#start();
  }

  /** Watches the group of a program that was just started. */
  add(group: ProcessGroup): void {
    if (process.platform === 'win32') return;
    let looks = REVIEWED_GROUPS;
    for (const watched of this.#leaderless) {
      if (looks-- === 0) break;
      this.#leaderless.delete(watched);
      if (watched.group.isOurs())
        this.#leaderless.add(watched); // after the others
      else this.#remove(watched);
    }
    const watched: Watched = { group, start: startOf(group.id), leaderless: false };
    this.#groups.set(group.id, watched);
    this.#send(lineOf(watched));
  }

  /** To be called when the leader of the group has exited, and when the group was ended. */
  review(group: ProcessGroup): void {
    const watched = this.#groups.get(group.id);
    if (watched?.group !== group) return; // removed, and its id belongs to another group
    if (!group.isAlive()) this.#remove(watched);
    else if (!watched.leaderless) {
      watched.leaderless = true;
      this.#leaderless.add(watched);
      this.#send(lineOf(watched));
    }
  }

  #remove(watched: Watched): void {
    this.#leaderless.delete(watched);
    if (this.#groups.get(watched.group.id) !== watched) return;
    this.#groups.delete(watched.group.id);
    this.#send(`- ${watched.group.id}\n`);
  }

  #start(): void {
    this.#journal ??= { place: journalPlace() };
    const { file = '', host = '' } = this.#journal.place ?? {};
    try {
      // The shell ends immediately, so that the watchdog is not a child of this process.
      const child = spawn(this.#shell, ['-c', 'eval "$TOOLWRIGHT_WATCHDOG" & echo $! >&3', 'toolwright-watchdog'], {
        cwd: '/',
        env: {
          PATH: SYSTEM_PATH,
          LC_ALL: 'C',
          TOOLWRIGHT_WATCHDOG: WATCHDOG_SCRIPT,
          MARK: this.mark,
          HOST: host,
          JOURNAL: file,
        },
        stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
        detached: true, // its own session, so that signals from a terminal do not reach it
      });
      child.on('error', (error) => this.#onFailedStart(error));
      if (child.pid === undefined) return;
      child.unref();
      this.#use(child.stdio[3] as Duplex & { unref(): void });
    } catch (error) {
      this.#onFailedStart(error);
    }
  }

  #onFailedStart(error: unknown): void {
    const { code } = error as { code?: unknown };
    this.#onFailure(`it could not be started: ${messageOf(error)}`, code !== 'ENOENT' && code !== 'EACCES');
  }

  #use(socket: Duplex & { unref(): void }): void {
    const link: Link = {
      socket,
      since: performance.now(),
      process: undefined,
      written: 0,
      accepted: 0,
      stalling: undefined,
    };
    this.#link = link;
    socket.unref();
    socket.on('error', () => {}); // `close` follows
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      const [, pid] = /^(\d{1,10})\n/.exec(received) ?? [];
      if (pid !== undefined) link.process = { pid: Number(pid), start: startOf(Number(pid)) };
    });
    socket.on('close', () => {
      clearTimeout(link.stalling);
      if (this.#link !== link) return;
      this.#link = undefined;
      if (performance.now() - link.since > MIN_LIFETIME_MS) this.#shortRuns = 0;
      else if (++this.#shortRuns > MAX_SHORT_RUNS) return this.#onFailure('it ends immediately after its start', true);
      this.#start();
    });
    const all = [...this.#groups.values()].map(lineOf).join('');
    if (all !== '') this.#send(all);
  }

  /** Writes a line, which is usually in the pipe when this returns, and so survives the host. Does not wait. */
  #send(line: string): void {
    const link = this.#link;
    if (!link) return;
    const number = ++link.written;
    link.socket.write(line, () => {
      link.accepted = number;
      if (link.socket.writableLength > 0) return;
      clearTimeout(link.stalling);
      link.stalling = undefined;
    });
    if (link.socket.writableLength > 0) this.#checkForStall(link);
  }

  /** Replaces a watchdog that does not read: a full pipe would keep the host alive. */
  #checkForStall(link: Link): void {
    const { written } = link;
    link.stalling ??= setTimeout(() => {
      link.stalling = undefined;
      if (this.#link !== link || link.socket.writableLength === 0) return;
      if (link.accepted >= written || !link.process) return this.#checkForStall(link);
      this.#link = undefined;
      this.#start();
      // Killed before the pipe is closed, which it would take for the end of the host.
      end(link.process);
      link.socket.destroy();
    }, STALLED_MS).unref();
  }

  #onFailure(reason: string, mayPass: boolean): void {
    this.#link = undefined;
    const retryMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LAST_RETRY_MS);
    this.#retryAt = performance.now() + retryMs;
    if (mayPass) {
      // Running programs need a watchdog before the next one is started.
      setTimeout(() => {
        if (this.#groups.size > 0) this.ensure();
      }, retryMs + 1).unref();
    }
    if (this.#warned) return;
    this.#warned = true;
    process.emitWarning(
      `The watchdog of Toolwright does not run: ${reason}. If this process is killed, processes that it started may continue to run.`,
      { type: 'ToolwrightWarning', code: 'TOOLWRIGHT_WATCHDOG' },
    );
  }
}

function end({ pid, start }: { pid: number; start: number }): void {
  if (startOf(pid) !== start) return; // already ended
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}

function lineOf({ group, start, leaderless }: Watched): string {
  return leaderless ? `~ ${group.id}\n` : `+ ${group.id} ${start}\n`;
}

/** Watches the programs of this thread. */
export const watchdog = new Watchdog();
export { HOST_MARK_VARIABLE };
