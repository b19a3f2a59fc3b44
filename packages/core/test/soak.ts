// How often long tests repeat: a tenth of their tries, or all of them with `npm run test:soak`.

/** True in `npm run test:soak`. */
export const soaking = process.env['TOOLWRIGHT_SOAK'] === '1';

/** The number of tries of a test that makes `whole` of them in a soak run. */
export function tries(whole: number): number {
  return soaking ? whole : Math.ceil(whole / 10);
}
