// The processes of one child: its group and, if it has a mark, the processes that left the group.

import type { ProcessGroup } from './process-group.js';
import {
  descendantsOf,
  markedWith,
  runningProcesses,
  signalProcess,
  startOf,
  type FoundProcess,
} from './stray-processes.js';

/** What belongs to the family besides the group. */
export interface FamilyOptions {
  /** The mark in the child's environment. Undefined: only the group. */
  mark: string | undefined;
  /** The leader is a sandbox: signals except SIGKILL go to the processes in it, and its end kills them. */
  isSandbox: boolean;
}

/** Signals that are meant to end a process. */
const ENDING: ReadonlySet<NodeJS.Signals> = new Set<NodeJS.Signals>([
  'SIGTERM',
  'SIGKILL',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
]);
/** If processes are started faster than this many scans find them, those that were found are signalled. */
const MAX_SCANS = 10;

/** The processes that the kill ladder ends. */
export class ProcessFamily {
  readonly #group: ProcessGroup;
  readonly #options: FamilyOptions;
  /** Processes that started earlier do not belong to it and are not inspected. */
  readonly #startedAt: number;
  /** Members by pid. A member stays one when its parent ends and it can no longer be found by descent. */
  #known = new Map<number, FoundProcess>();

  constructor(group: ProcessGroup, options: FamilyOptions) {
    this.#group = group;
    this.#options = options;
    this.#startedAt = options.mark === undefined ? 0 : startOf(group.id);
  }

  /** True while any member runs. */
  isAlive(): boolean {
    return this.#group.isAlive() || (this.#options.mark !== undefined && this.#members().length > 0);
  }

  /** Records members that left the group, which can be found only while their parents run. */
  remember(): void {
    if (this.#options.mark !== undefined) this.#members();
  }

  /** Sends a signal to all members. */
  signal(name: NodeJS.Signals): void {
    const { mark, isSandbox } = this.#options;
    if (isSandbox && name !== 'SIGKILL' && this.#signalInside(name)) return;
    const ends = ENDING.has(name);
    const strays = mark === undefined ? [] : this.#strays(ends);
    this.#send(name, strays);
    if (mark !== undefined && ends && name !== 'SIGKILL') this.#send('SIGCONT', strays);
  }

  /**
   * Finds members that left the group. To end them, every member is stopped until a scan finds no new one: a process that is
   * started between a scan and the signal, leaves the group, clears its environment and loses its parent could not be found.
   */
  #strays(ends: boolean): FoundProcess[] {
    const stopped = new Set<number>();
    for (let scans = 1; ; scans++) {
      const members = this.#members();
      const strays = members.filter(({ group }) => group !== this.#group.id);
      if (!ends || members.every(({ pid }) => stopped.has(pid)) || scans > MAX_SCANS) return strays;
      for (const { pid } of members) stopped.add(pid);
      this.#send('SIGSTOP', strays);
    }
  }

  #send(name: NodeJS.Signals, strays: readonly FoundProcess[]): void {
    this.#group.signal(name);
    for (const stray of strays) signalProcess(stray, name);
  }

  /** The pids of running members. Empty where the system does not list processes, see stray-processes.ts. */
  pids(): number[] {
    return this.#members().map(({ pid }) => pid);
  }

  #members(): FoundProcess[] {
    const { mark } = this.#options;
    const all = runningProcesses();
    if (!all) return [...this.#known.values()]; // without a scan no member counts as ended
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

  /** The leader of a sandbox starts the first process of its namespace, whose descendants are the processes in it. */
  #signalInside(name: NodeJS.Signals): boolean {
    const all = runningProcesses() ?? [];
    const first = all.filter(({ parent }) => parent === this.#group.id && this.#group.isOurs());
    const inside = first.flatMap(({ pid }) => descendantsOf(pid, all));
    for (const found of inside) signalProcess(found, name);
    return inside.length > 0;
  }
}
