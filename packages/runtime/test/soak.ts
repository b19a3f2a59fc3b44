// How much of a long test runs: a tenth, or all of it with `npm run test:soak`.

/** True in `npm run test:soak`. */
export const soaking = process.env['TOOLWRIGHT_SOAK'] === '1';

/** The number of tries of a test that makes `whole` of them when it soaks. */
export function tries(whole: number): number {
  return soaking ? whole : Math.ceil(whole / 10);
}
