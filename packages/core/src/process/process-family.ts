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

/** What the kill ladder climbs for. */
export class ProcessFamily {
  readonly #group: ProcessGroup;
  readonly #options: FamilyOptions;
  /** What started before cannot be of it, and need not be looked into. */
  readonly #startedAt: number;

  constructor(group: ProcessGroup, options: FamilyOptions) {
    this.#group = group;
    this.#options = options;
    this.#startedAt = options.mark === undefined ? 0 : startOf(group.id);
  }

  /** True while anything of it runs. */
  isAlive(): boolean {
    return this.#group.isAlive() || (this.#options.mark !== undefined && this.#members().length > 0);
  }

  /** Sends a signal to all of it. */
  signal(name: NodeJS.Signals): void {
    const { mark, isSandbox } = this.#options;
    if (isSandbox && name !== 'SIGKILL' && this.#signalInside(name)) return;
    // First the strays: once the group is gone, what descended from it may be nobody's.
    const strays = mark === undefined ? [] : this.#members().filter(({ group }) => group !== this.#group.id);
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
    const roots = all.filter(({ group }) => group === this.#group.id && this.#group.isOurs());
    if (mark !== undefined) roots.push(...markedWith(`${mark}\0`, all, this.#startedAt));
    const members = new Map(roots.map((root) => [root.pid, root]));
    for (const root of roots) for (const found of descendantsOf(root.pid, all)) members.set(found.pid, found);
    return [...members.values()];
  }

  /** A sandbox is the leader and the first process of its namespace; below that one is what it runs. */
  #signalInside(name: NodeJS.Signals): boolean {
    const all = runningProcesses();
    const first = all.filter(({ parent }) => parent === this.#group.id && this.#group.isOurs());
    const inside = first.flatMap(({ pid }) => descendantsOf(pid, all));
    for (const found of inside) signalProcess(found, name);
    return inside.length > 0;
  }
}
