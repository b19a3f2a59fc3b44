// Checks the version of Node on import: on an older one, some missing method would fail later with an obscure error.

const OLDEST: readonly [major: number, minor: number] = [20, 19];

/**
 * Called when a package is imported. Does nothing outside Node (in a browser or an edge runtime).
 *
 * @throws {Error} on a Node that is too old
 */
export function assertNodeVersion(version: string | undefined = globalThis.process?.versions?.node): void {
  if (version === undefined) return;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw new Error(`Toolwright needs Node ${OLDEST.join('.')} or later; this is Node ${version}. Install a newer Node.`);
}
