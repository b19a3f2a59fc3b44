// Deadlines, all on one timer: a call costs a Set entry, not a timer of its own. And single timers of any length.

/** Something that ends at `dueAt` (of `performance.now()`) unless it is closed before. */
export interface Deadline {
  dueAt: number;
  expire(): void;
}

/** Node runs a timer with a longer delay at once; what is due later is looked at again then. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

const open = new Set<Deadline>();
let timer: NodeJS.Timeout | undefined;
let timerDueAt = Infinity;
let sweep: NodeJS.Immediate | undefined;

/** Starts watching a deadline, or moves one that is watched to its new `dueAt`. */
export function watchDeadline(deadline: Deadline): void {
  open.add(deadline);
  if (deadline.dueAt < timerDueAt) arm(deadline.dueAt);
}

/** Stops watching. */
export function unwatchDeadline(deadline: Deadline): void {
  if (open.delete(deadline) && open.size === 0) sweep ??= setImmediate(clearIfIdle);
}

/**
 * With the last deadline the timer goes, so that nothing keeps the process alive: at the end of this turn of the event
 * loop, as a loop of calls would otherwise set and clear it for each one (which costs more than the call).
 */
function clearIfIdle(): void {
  sweep = undefined;
  if (open.size > 0) return;
  clearTimeout(timer);
  timerDueAt = Infinity;
}

function arm(dueAt: number): void {
  clearTimeout(timer);
  timerDueAt = dueAt;
  timer = setTimeout(expireDue, Math.min(Math.max(1, dueAt - performance.now()), LONGEST_DELAY_MS));
}

function expireDue(): void {
  const now = performance.now();
  timerDueAt = Infinity;
  let next = Infinity;
  for (const deadline of [...open]) {
    if (deadline.dueAt <= now) {
      open.delete(deadline);
      deadline.expire();
    } else next = Math.min(next, deadline.dueAt);
  }
  if (next < timerDueAt) arm(next);
}

/** Runs `run` once, after `ms` of any length, never for `Infinity`. Gives the cancel. Keeps the process alive meanwhile. */
export function startTimer(ms: number, run: () => void): () => void {
  const dueAt = performance.now() + ms;
  let timer: NodeJS.Timeout | undefined;
  const wait = (leftMs: number): void => {
    timer =
      leftMs > LONGEST_DELAY_MS
        ? setTimeout(() => wait(dueAt - performance.now()), LONGEST_DELAY_MS)
        : setTimeout(run, leftMs);
  };
  if (ms !== Infinity) wait(ms);
  return () => clearTimeout(timer);
}
