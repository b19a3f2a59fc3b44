// The oldest Node that the packages run on, said in words: on an older one the first fault is some missing method.

const OLDEST: readonly [major: number, minor: number] = [20, 19];

/**
 * Called when a package is imported. Where there is no Node (a browser, an edge runtime) it does nothing.
 *
 * @throws {Error} on a Node that is too old
 */
export function assertNodeVersion(version: string | undefined = globalThis.process?.versions?.node): void {
  if (version === undefined) return;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw new Error(
    `Toolwright needs Node ${OLDEST.join('.')} or later, and this is Node ${version}. Install a newer Node.`,
  );
}
