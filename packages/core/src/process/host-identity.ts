// Which process this is, for those who find later what it has left: a number alone is given to another process again.

import { readFileSync, readlinkSync } from 'node:fs';
import { startOf } from './stray-processes.js';

/** A process, told apart from every other one. */
export interface HostIdentity {
  /** Its boot and its namespace of process numbers: in another of either, its number says nothing. Two words. */
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

/** True when no such process runs any more. Only for a process of this user and of {@link hostIdentity}'s place. */
export function hasEnded({ pid, start }: Pick<HostIdentity, 'pid' | 'start'>): boolean {
  return startOf(pid) !== start;
}

/** True when a host has certainly ended. Of another container of this boot nothing is known. */
export function isHostGone(owner: HostIdentity, self: HostIdentity): boolean {
  if (owner.place === self.place) return hasEnded(owner);
  return owner.place.split(' ', 1)[0] !== self.place.split(' ', 1)[0]; // another boot
}
