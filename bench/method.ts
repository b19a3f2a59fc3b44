// How every figure is measured: the floor and the subject in turn (A B A B …) in one process, after a warm-up; the
// figure is the median of the per-round ratios, with its quartiles. Operations below 20 us are timed in batches.

/** An operation to time. It may keep state between calls. */
type Operation = () => unknown;

/** One side of a row: what it does, and how many times it is done for one measurement. */
export interface Side {
  name: string;
  run: Operation;
}

/** A floor that runs in another process, which measures it: how long one operation took, in microseconds. */
export interface SideElsewhere {
  name: string;
  time: () => Promise<number>;
}

/** One row of the table. */
export interface Row {
  what: string;
  subject: string;
  against: string;
  /** Of one operation, in microseconds (or in `unit`): medians over the rounds. */
  subjectUs: number;
  againstUs: number;
  /** Of the subject, where single operations were timed: 95 of 100 took no longer. */
  p95Us?: number;
  /** What all figures of the row are in, when it is no time. */
  unit?: 'MB';
  /** Subject by floor, round by round: median and quartiles. */
  ratio: Quartiles;
  /** Subject less floor, in microseconds, round by round. */
  differenceUs: Quartiles;
  /** Subject less so many times the floor as {@link CompareOptions.times} says, in microseconds, round by round. */
  excessUs?: Quartiles;
  /** What was to be reached, in words, and whether it was; absent for a row that only informs. */
  reach?: { bound: string; reached: boolean };
}

export interface Quartiles {
  q1: number;
  median: number;
  q3: number;
}

export interface CompareOptions {
  rounds?: number;
  /** Operations a measurement. Default 1,000. */
  batch?: number;
  /** Rounds that are thrown away first: the compiler needs tens of thousands of calls. Default 30. */
  warmUp?: number;
  /** For a bound of the form "so many times the floor, and so many milliseconds". Default 1. */
  times?: number;
}

/** Measures subject and floor in turn. */
export async function compare(
  what: string,
  subject: Side,
  floor: Side,
  options: CompareOptions = {},
): Promise<Row & { excessUs: Quartiles }> {
  const { rounds = 25, batch = 1_000, warmUp = 30, times = 1 } = options;
  const ratios: number[] = [];
  const differences: number[] = [];
  const excesses: number[] = [];
  const subjectTimes: number[] = [];
  const floorTimes: number[] = [];
  for (let round = -warmUp; round < rounds; round++) {
    const floorUs = await timeOne(floor.run, batch);
    const subjectUs = await timeOne(subject.run, batch);
    if (round < 0) continue;
    ratios.push(subjectUs / floorUs);
    differences.push(subjectUs - floorUs);
    excesses.push(subjectUs - times * floorUs);
    subjectTimes.push(subjectUs);
    floorTimes.push(floorUs);
  }
  return {
    what,
    subject: subject.name,
    against: floor.name,
    subjectUs: quartiles(subjectTimes).median,
    againstUs: quartiles(floorTimes).median,
    ratio: quartiles(ratios),
    differenceUs: quartiles(differences),
    excessUs: quartiles(excesses),
  };
}

/**
 * Times single operations, of which the subject has many for each one of a slow floor: so that there is a 95th
 * percentile. Each turn is one operation of the floor and `each` of the subject; before, the floor is done twice and the
 * subject `warmUp` times.
 */
export async function compareSingly(
  what: string,
  subject: Side,
  floor: Side | SideElsewhere,
  { rounds = 15, each = 20, warmUp = 40 }: { rounds?: number; each?: number; warmUp?: number } = {},
): Promise<Row & { p95Us: number }> {
  const all: number[] = [];
  const medians: number[] = [];
  const floorTimes: number[] = [];
  await timeOne(subject.run, warmUp);
  for (let round = -2; round < rounds; round++) {
    const floorUs = 'time' in floor ? await floor.time() : await timeOne(floor.run, 1);
    const times: number[] = [];
    for (let i = 0; i < each; i++) times.push(await timeOne(subject.run, 1));
    if (round < 0) continue;
    for (const time of times) all.push(time);
    medians.push(quartiles(times).median);
    floorTimes.push(floorUs);
  }
  const sorted = all.toSorted((a, b) => a - b);
  return {
    what,
    subject: subject.name,
    against: floor.name,
    subjectUs: quartiles(all).median,
    againstUs: quartiles(floorTimes).median,
    p95Us: sorted[Math.floor(0.95 * sorted.length)] ?? NaN,
    ratio: quartiles(medians.map((us, round) => us / (floorTimes[round] as number))),
    differenceUs: quartiles(medians.map((us, round) => us - (floorTimes[round] as number))),
  };
}

/** One row of several that were measured with processes of their own. */
export function pooled(rows: readonly [Row, ...Row[]]): Row {
  const over = (value: (row: Row) => number): Quartiles => quartiles(rows.map(value));
  const { excessUs: _, ...first } = rows[0]; // of one of them alone
  return {
    ...first,
    subjectUs: over(({ subjectUs }) => subjectUs).median,
    againstUs: over(({ againstUs }) => againstUs).median,
    ratio: over(({ ratio }) => ratio.median),
    differenceUs: over(({ differenceUs }) => differenceUs.median),
  };
}

/** Microseconds of one operation, from a batch of them one after the other. */
async function timeOne(run: Operation, batch: number): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < batch; i++) await run();
  return ((performance.now() - started) * 1_000) / batch;
}

export function quartiles(values: readonly number[]): Quartiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN;
  return { q1: at(0.25), median: at(0.5), q3: at(0.75) };
}

/** The row with its verdict: `value` must not be over (or, for `'>='`, under) the bound. */
export function reach(row: Row, value: number, relation: '<=' | '>=', bound: number, unit: string): Row {
  const reached = relation === '<=' ? value <= bound : value >= bound;
  return { ...row, reach: { bound: `${relation} ${bound} ${unit}`, reached } };
}
