// Nothing outlives the host, whatever ends it: a small process holds the other end of a pipe, and when that closes it
// ends what is left. This is the host's side; what the process does is watchdog-script.ts.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { messageOf } from '../contract/errors.js';
import { journalPlace, type JournalPlace } from './journal.js';
import type { ProcessGroup } from './process-group.js';
import { startOf } from './stray-processes.js';
import { HOST_MARK_VARIABLE, WATCHDOG_SCRIPT } from './watchdog-script.js';

/** It runs a few programs of the system's, and none that a project or a user could put in their place. */
const SYSTEM_PATH = '/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin';
/** One that reads nothing for so long stands still, and is replaced. */
const STALLED_MS = 2_000;
/** So many in a row that lived less are replaced at once, and then after a while. */
const LIVED_MS = 1_000;
const MAX_SHORT_LIVES = 3;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
/** How many groups without a leader are looked at when another one begins. */
const REVIEWED = 16;

interface Link {
  readonly socket: Duplex;
  readonly since: number;
  /** Known a moment after its start. */
  process: { pid: number; start: number } | undefined;
  /** Lines that were written, and those of them that the pipe has taken. */
  told: number;
  taken: number;
  stalling: NodeJS.Timeout | undefined;
}

/** A group that is watched. */
interface Watched {
  readonly group: ProcessGroup;
  readonly start: number;
  leaderless: boolean;
}

/**
 * The watchdog of this module in this thread: a thread is a host of its own, and its programs end with it. It is started
 * before the first program, is nobody's child, holds neither the event loop nor any file of the host's, and is replaced
 * when it ends or stands still. Where it cannot be started, programs are started all the same, and a warning says so once.
 */
export class Watchdog {
  /** What every program gets, so that it is found also when the host ends before its number is known. */
  readonly mark = randomBytes(16).toString('hex');
  readonly #shell: string;
  readonly #groups = new Map<number, Watched>();
  /** Those of {@link #groups} whose end nobody tells. */
  readonly #leaderless = new Set<Watched>();
  #link: Link | undefined;
  #journal: { readonly place: JournalPlace | undefined } | undefined;
  #failures = 0;
  #shortLives = 0;
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
    let looks = REVIEWED;
    for (const watched of this.#leaderless) {
      if (looks-- === 0) break;
      this.#leaderless.delete(watched);
      if (watched.group.isOurs())
        this.#leaderless.add(watched); // behind the others
      else this.#forget(watched);
    }
    const watched: Watched = { group, start: startOf(group.id), leaderless: false };
    this.#groups.set(group.id, watched);
    this.#tell(lineOf(watched));
  }

  /** To be called when the leader of the group has exited, and when the group was ended. */
  review(group: ProcessGroup): void {
    const watched = this.#groups.get(group.id);
    if (watched?.group !== group) return; // forgotten, and its number is another's
    if (!group.isAlive()) this.#forget(watched);
    else if (!watched.leaderless) {
      watched.leaderless = true;
      this.#leaderless.add(watched);
      this.#tell(lineOf(watched));
    }
  }

  #forget(watched: Watched): void {
    this.#leaderless.delete(watched);
    if (this.#groups.get(watched.group.id) !== watched) return;
    this.#groups.delete(watched.group.id);
    this.#tell(`- ${watched.group.id}\n`);
  }

  #start(): void {
    this.#journal ??= { place: journalPlace() };
    const { file = '', host = '' } = this.#journal.place ?? {};
    try {
      // The shell that is started ends at once: its own child is nobody's here, not even for who counts children.
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
        detached: true, // a session of its own: what a terminal tells the host is not for it
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
    const link: Link = { socket, since: performance.now(), process: undefined, told: 0, taken: 0, stalling: undefined };
    this.#link = link;
    socket.unref();
    socket.on('error', () => {}); // it has gone, which `close` tells
    let said = '';
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1');
      const [, pid] = /^(\d{1,10})\n/.exec(said) ?? [];
      if (pid !== undefined) link.process = { pid: Number(pid), start: startOf(Number(pid)) };
    });
    socket.on('close', () => {
      clearTimeout(link.stalling);
      if (this.#link !== link) return;
      this.#link = undefined;
      if (performance.now() - link.since > LIVED_MS) this.#shortLives = 0;
      else if (++this.#shortLives > MAX_SHORT_LIVES) return this.#onFailure('it ends as soon as it is started', true);
      this.#start();
    });
    const all = [...this.#groups.values()].map(lineOf).join('');
    if (all !== '') this.#tell(all);
  }

  /** Mostly the line is in the pipe when this returns, and so is safe from our end. It is never waited for. */
  #tell(line: string): void {
    const link = this.#link;
    if (!link) return;
    const number = ++link.told;
    link.socket.write(line, () => {
      link.taken = number;
      if (link.socket.writableLength > 0) return;
      clearTimeout(link.stalling);
      link.stalling = undefined;
    });
    if (link.socket.writableLength > 0) this.#watchForStall(link);
  }

  /** What waits in a pipe would keep the host from its natural end, and a watchdog that stands still is none. */
  #watchForStall(link: Link): void {
    const { told } = link;
    link.stalling ??= setTimeout(() => {
      link.stalling = undefined;
      if (this.#link !== link || link.socket.writableLength === 0) return;
      if (link.taken >= told || !link.process) return this.#watchForStall(link);
      this.#link = undefined;
      this.#start();
      // Killed before the pipe is closed, whose end it would take for the host's.
      end(link.process);
      link.socket.destroy();
    }, STALLED_MS).unref();
  }

  #onFailure(reason: string, mayPass: boolean): void {
    this.#link = undefined;
    const retryMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LAST_RETRY_MS);
    this.#retryAt = performance.now() + retryMs;
    if (mayPass) {
      // What runs already is not left without one until the next program.
      setTimeout(() => {
        if (this.#groups.size > 0) this.ensure();
      }, retryMs + 1).unref();
    }
    if (this.#warned) return;
    this.#warned = true;
    process.emitWarning(
      `The watchdog of Toolwright does not run: ${reason}. Should this process be killed, what it started may live on.`,
      { type: 'ToolwrightWarning', code: 'TOOLWRIGHT_WATCHDOG' },
    );
  }
}

function end({ pid, start }: { pid: number; start: number }): void {
  if (startOf(pid) !== start) return; // ended already
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended between the look and the signal.
  }
}

function lineOf({ group, start, leaderless }: Watched): string {
  return leaderless ? `~ ${group.id}\n` : `+ ${group.id} ${start}\n`;
}

/** Watches what this thread starts. */
export const watchdog = new Watchdog();
export { HOST_MARK_VARIABLE };
