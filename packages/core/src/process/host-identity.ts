// Identifies a host process for later hosts, which find what it left. A pid alone is not enough, as pids are reused.

import { readFileSync, readlinkSync } from 'node:fs';
import { startOf } from './stray-processes.js';

/** Identifies a process among all others. */
export interface HostIdentity {
  /** Its boot and its PID namespace, separated by a space: in another of either, its pid means nothing. */
  readonly place: string;
  /** Its process number. */
  readonly pid: number;
  /** When it started, in clock ticks since boot. */
  readonly start: number;
}

let identity: HostIdentity | undefined;

/** This process; undefined where the system cannot tell it from a later process with the same number. */
export function hostIdentity(): HostIdentity | undefined {
  return (identity ??= readIdentity());
}

function readIdentity(): HostIdentity | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    const start = startOf(process.pid);
    return start === 0 ? undefined : { place: `${boot} ${readlinkSync('/proc/self/ns/pid')}`, pid: process.pid, start };
  } catch {
    return undefined; // no /proc, or not readable
  }
}

/** True when the process has ended. Only for a process of this user with the same `place` as {@link hostIdentity}. */
export function hasEnded({ pid, start }: Pick<HostIdentity, 'pid' | 'start'>): boolean {
  return startOf(pid) !== start;
}

/** True when a host has certainly ended. One in another container of this boot may still run. */
export function isHostGone(owner: HostIdentity, self: HostIdentity): boolean {
  if (owner.place === self.place) return hasEnded(owner);
  return owner.place.split(' ', 1)[0] !== self.place.split(' ', 1)[0]; // another boot
}
