// One process group: whether any process of it runs, and signals to all of them. kill-ladder.ts decides when.

import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { runningProcesses } from './stray-processes.js';

const ON_WINDOWS = process.platform === 'win32';

/**
 * The group that a detached child leads. Its id is used only while it certainly means this group: once the group was empty,
 * or its id was seen on another process, it is never signalled again.
 */
export class ProcessGroup {
  readonly id: number;
  readonly #leader: ChildProcess;
  #isLeaderReaped = false;
  #isGone = false;

  /** @param leader a running child that leads its own group */
  constructor(leader: ChildProcess, pid: number) {
    this.#leader = leader;
    this.id = pid;
  }

  /** To be called in the leader's `exit` event: from then on its pid may be reused. */
  noteLeaderExit(): void {
    this.#isLeaderReaped = true;
    if (ON_WINDOWS) this.#isGone = true;
    else this.#probe();
  }

  /** True while a process of the group runs. A zombie does not count. */
  isAlive(): boolean {
    if (!this.#probe()) return false;
    if (!this.#isLeaderReaped || process.platform !== 'linux') return true;
    // Where init does not reap, as in many containers, a zombie keeps the id in use.
    return hasRunningMember(this.id);
  }

  /** True while the id certainly means this group, and not a later one. */
  isOurs(): boolean {
    return this.#probe();
  }

  /** Sends a signal to every process of the group. Does nothing after the group has ended. */
  signal(name: NodeJS.Signals): void {
    if (ON_WINDOWS) {
      if (!this.#isGone && name === 'SIGKILL') this.#killTreeOnWindows();
      return; // Windows has no equivalent; closing stdin is the request.
    }
    if (!this.#probe()) return;
    try {
      process.kill(-this.id, name);
    } catch (error) {
      if (errnoOf(error) === 'ESRCH') this.#isGone = this.#isLeaderReaped;
      // EPERM: the remaining processes run as another user.
    }
  }

  /** True while the id is in use and certainly means this group. */
  #probe(): boolean {
    if (this.#isGone) return false;
    if (!this.#isLeaderReaped) return true;
    // POSIX gives no process a pid that is still the id of a group. So a process with the leader's pid proves that this
    // group has ended, and that a group with this id is another one.
    if (processExists(this.id) || !processExists(-this.id)) this.#isGone = true;
    return !this.#isGone;
  }

  #killTreeOnWindows(): void {
    const taskkill = join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'taskkill.exe');
    const killer = spawn(taskkill, ['/pid', String(this.id), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
    killer.on('error', () => this.#leader.kill('SIGKILL'));
  }
}

/** Whether a process, or with a negative id a process group, exists, even if it belongs to another user. */
export function processExists(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

function hasRunningMember(id: number): boolean {
  const all = runningProcesses();
  return all === undefined || all.some(({ group }) => group === id); // without a list of processes, the result of kill() has to do
}

function errnoOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
