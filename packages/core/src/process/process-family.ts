// All that one child stands for: its group, and, where it was marked, the processes that left the group.

import type { ProcessGroup } from './process-group.js';
import {
  descendantsOf,
  markedWith,
  runningProcesses,
  signalProcess,
  startOf,
  type FoundProcess,
} from './stray-processes.js';

/** What to look for beside the group. */
export interface FamilyOptions {
  /** The mark that the child's environment carries. Undefined: the group is all. */
  mark: string | undefined;
  /** The leader is a sandbox: polite signals are for what runs in it, and its own end kills all of that. */
  isSandbox: boolean;
}

/** Signals that a process ends by, unless it has something to do first. */
const ENDING: ReadonlySet<NodeJS.Signals> = new Set<NodeJS.Signals>([
  'SIGTERM',
  'SIGKILL',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
]);
/** What starts processes faster than this many looks is signalled as far as it was found. */
const MAX_LOOKS = 10;

/** What the kill ladder climbs for. */
export class ProcessFamily {
  readonly #group: ProcessGroup;
  readonly #options: FamilyOptions;
  /** What started before cannot be of it, and need not be looked into. */
  readonly #startedAt: number;
  /** What was of it once is of it for good, by number: a descent ends with its parent. */
  #known = new Map<number, FoundProcess>();

  constructor(group: ProcessGroup, options: FamilyOptions) {
    this.#group = group;
    this.#options = options;
    this.#startedAt = options.mark === undefined ? 0 : startOf(group.id);
  }

  /** True while anything of it runs. */
  isAlive(): boolean {
    return this.#group.isAlive() || (this.#options.mark !== undefined && this.#members().length > 0);
  }

  /** Finds what left the group while the parents still tell whose it is, for when they have ended. */
  remember(): void {
    if (this.#options.mark !== undefined) this.#members();
  }

  /** Sends a signal to all of it. */
  signal(name: NodeJS.Signals): void {
    const { mark, isSandbox } = this.#options;
    if (isSandbox && name !== 'SIGKILL' && this.#signalInside(name)) return;
    const ends = ENDING.has(name);
    const strays = mark === undefined ? [] : this.#strays(ends);
    this.#send(name, strays);
    if (mark !== undefined && ends && name !== 'SIGKILL') this.#send('SIGCONT', strays);
  }

  /**
   * Finds what left the group. To be ended, all is stopped until nothing new is found: what is started between a look and a
   * signal, leaves group and environment, and loses its parent to the signal, would be nobody's.
   */
  #strays(isToEnd: boolean): FoundProcess[] {
    const stopped = new Set<number>();
    for (let looks = 1; ; looks++) {
      const members = this.#members();
      const strays = members.filter(({ group }) => group !== this.#group.id);
      if (!isToEnd || members.every(({ pid }) => stopped.has(pid)) || looks > MAX_LOOKS) return strays;
      for (const { pid } of members) stopped.add(pid);
      this.#send('SIGSTOP', strays);
    }
  }

  #send(name: NodeJS.Signals, strays: readonly FoundProcess[]): void {
    this.#group.signal(name);
    for (const stray of strays) signalProcess(stray, name);
  }

  /** The numbers of what runs of it. Empty where the system does not tell, see stray-processes.ts. */
  pids(): number[] {
    return this.#members().map(({ pid }) => pid);
  }

  #members(): FoundProcess[] {
    const { mark } = this.#options;
    const all = runningProcesses();
    if (!all) return [...this.#known.values()]; // nobody is taken for dead unseen
    const roots = all.filter(
      ({ pid, group, startedAt }) =>
        (group === this.#group.id && this.#group.isOurs()) || this.#known.get(pid)?.startedAt === startedAt,
    );
    if (mark !== undefined) for (const marked of markedWith(`${mark}\0`, all, this.#startedAt)) roots.push(marked);
    const members = new Map(roots.map((root) => [root.pid, root]));
    for (const root of roots) for (const found of descendantsOf(root.pid, all)) members.set(found.pid, found);
    this.#known = members;
    return [...members.values()];
  }

  /** A sandbox is the leader and the first process of its namespace; below that one is what it runs. */
  #signalInside(name: NodeJS.Signals): boolean {
    const all = runningProcesses() ?? [];
    const first = all.filter(({ parent }) => parent === this.#group.id && this.#group.isOurs());
    const inside = first.flatMap(({ pid }) => descendantsOf(pid, all));
    for (const found of inside) signalProcess(found, name);
    return inside.length > 0;
  }
}
