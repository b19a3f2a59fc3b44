import { expect, it } from 'vitest';
import { assertNodeVersion } from '../src/node-version.js';

it.each(['18.20.4', '20.18.3', '16.0.0'])(
  'assertNodeVersion() throws with the required version when run on Node %s',
  (version) => {
    expect(() => assertNodeVersion(version)).toThrow(
      `Toolwright needs Node 20.19 or later; this is Node ${version}. Install a newer Node.`,
    );
  },
);

it.each(['20.19.0', '22.0.0', '24.1.0', undefined])('assertNodeVersion() accepts %s', (version) => {
  expect(() => assertNodeVersion(version)).not.toThrow();
});
