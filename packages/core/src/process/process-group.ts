// One process group: whether anything of it lives, and signalling all of it. When to do so is kill-ladder.ts.

import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { runningProcesses } from './stray-processes.js';

const ON_WINDOWS = process.platform === 'win32';

/**
 * The group that a detached child leads. Its number is only used while it is known to be ours: once the group was seen
 * empty, or its number was seen on a stranger, it is gone for good and never signalled again.
 */
export class ProcessGroup {
  readonly id: number;
  readonly #leader: ChildProcess;
  #leaderReaped = false;
  #gone = false;

  /** @param leader a child that was started, as the leader of its own group */
  constructor(leader: ChildProcess, pid: number) {
    this.#leader = leader;
    this.id = pid;
  }

  /** To be called in the leader's `exit` event itself: from then on its number may be given to another process. */
  noteLeaderExit(): void {
    this.#leaderReaped = true;
    if (ON_WINDOWS) this.#gone = true;
    else this.#probe();
  }

  /** True while a process of the group runs. A dead process that nobody has reaped does not count. */
  isAlive(): boolean {
    if (!this.#probe()) return false;
    if (!this.#leaderReaped || process.platform !== 'linux') return true;
    // Where init does not reap (many containers), a dead grandchild keeps the number taken for ever.
    return hasRunningMember(this.id);
  }

  /** True while the group's number is known to stand for our group, and for no later one. */
  isOurs(): boolean {
    return this.#probe();
  }

  /** Sends a signal to every process of the group; does nothing once the group is gone. */
  signal(name: NodeJS.Signals): void {
    if (ON_WINDOWS) {
      if (!this.#gone && name === 'SIGKILL') this.#killTreeOnWindows();
      return; // Windows has no polite signal; the end of stdin was it.
    }
    if (!this.#probe()) return;
    try {
      process.kill(-this.id, name);
    } catch (error) {
      if (errnoOf(error) === 'ESRCH') this.#gone = this.#leaderReaped;
      // EPERM: what is left runs as somebody else, and is not ours to end.
    }
  }

  /** True while the group's number is in use and known to be ours. */
  #probe(): boolean {
    if (this.#gone) return false;
    if (!this.#leaderReaped) return true;
    // POSIX gives no process a number that is still some group's. So a process that has our late leader's number
    // proves that our group had emptied before, and that a group of this number is a stranger's.
    if (isTaken(this.id) || !isTaken(-this.id)) this.#gone = true;
    return !this.#gone;
  }

  #killTreeOnWindows(): void {
    const taskkill = join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'taskkill.exe');
    const killer = spawn(taskkill, ['/pid', String(this.id), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
    killer.on('error', () => this.#leader.kill('SIGKILL'));
  }
}

function isTaken(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

function hasRunningMember(id: number): boolean {
  const all = runningProcesses();
  return all === undefined || all.some(({ group }) => group === id); // untold, the signal's answer has to do
}

function errnoOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
