// How every figure is measured: floor and subject alternate (A B A B …) in one process, after a warm-up. The
// figure is the median of the per-round ratios, with its quartiles. Operations below 20 us are timed in batches.

/** An operation to time. It may keep state between calls. */
type Operation = () => unknown;

/** One side of a row: its operation, and the number of operations per measurement. */
export interface Side {
  name: string;
  run: Operation;
}

/** A floor that runs in another process, which returns the microseconds of one operation. */
export interface SideElsewhere {
  name: string;
  time: () => Promise<number>;
}

/** One row of the table. */
export interface Row {
  what: string;
  subject: string;
  against: string;
  /** The median over the rounds of one operation, in microseconds or in `unit`. */
  subjectUs: number;
  againstUs: number;
  /** The 95th percentile of the subject, if single operations were timed. */
  p95Us?: number;
  /** The unit of the row's figures, if they are not times. */
  unit?: 'MB';
  /** The subject divided by the floor in each round: median and quartiles. */
  ratio: Quartiles;
  /** The subject minus the floor in each round, in microseconds. */
  differenceUs: Quartiles;
  /** The subject minus {@link CompareOptions.times} times the floor in each round, in microseconds. */
  excessUs?: Quartiles;
  /** The target as text, and whether it was reached; absent for a row without a target. */
  reach?: { bound: string; reached: boolean };
}

export interface Quartiles {
  q1: number;
  median: number;
  q3: number;
}

export interface CompareOptions {
  rounds?: number;
  /** Operations per measurement. Default 1,000. */
  batch?: number;
  /** Rounds to discard first, because the compiler needs tens of thousands of calls. Default 30. */
  warmUp?: number;
  /** The factor of the floor in a target such as "1.5 x + 150 ms". Default 1. */
  times?: number;
}

/** Measures subject and floor alternately. */
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
 * Times single operations, many of the subject for each one of a slow floor, to get a 95th percentile. Each round is one
 * operation of the floor and `each` of the subject. To warm up, the floor runs twice and the subject `warmUp` times.
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

/** Combines rows that were measured in separate processes. */
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

/** The microseconds of one operation, from a batch of consecutive ones. */
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

/** The row with its verdict: `value` must be at most (or, for `'>='`, at least) the bound. */
export function reach(row: Row, value: number, relation: '<=' | '>=', bound: number, unit: string): Row {
  const reached = relation === '<=' ? value <= bound : value >= bound;
  return { ...row, reach: { bound: `${relation} ${bound} ${unit}`, reached } };
}
