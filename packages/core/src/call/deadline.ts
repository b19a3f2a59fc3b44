// All deadlines share one timer, so that a call costs a Set entry rather than a timer. And timers of any length.

/** Something that expires at `dueAt`, a time of `performance.now()`, unless it is no longer watched. */
export interface Deadline {
  /** When it expires. */
  dueAt: number;
  /** Called when it expires. */
  expire(): void;
}

/** Node fires a timer with a longer delay immediately, so longer delays are split. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

const open = new Set<Deadline>();
let timer: NodeJS.Timeout | undefined;
let timerDueAt = Infinity;
let sweep: NodeJS.Immediate | undefined;

/** Starts to watch a deadline, or updates it after its `dueAt` has changed. */
export function watchDeadline(deadline: Deadline): void {
  open.add(deadline);
  if (deadline.dueAt < timerDueAt) arm(deadline.dueAt);
}

/** Stops watching a deadline. */
export function unwatchDeadline(deadline: Deadline): void {
  if (open.delete(deadline) && open.size === 0) sweep ??= setImmediate(clearIfIdle);
}

/**
 * Clears the timer after the last deadline, so that it does not keep the process alive. Deferred to the end of the turn of the
 * event loop: otherwise a loop of calls would set and clear the timer for each call, which costs more than the call.
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

/** Calls `run` once after `ms`, which may be of any length (`Infinity`: never). Returns a function that cancels. Keeps the process alive. */
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
