// One test recipe, passed by name: `vitest run --config vitest.workspace.ts`.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Tests import the packages by name and run their sources; what is built is tested by test/built. */
const alias = [
  { find: /^@toolwright\/(core|runtime|gateway)$/, replacement: source('./packages/$1/src/index.ts') },
  { find: /^@toolwright\/(core|runtime|gateway)\/(.+)$/, replacement: source('./packages/$1/src/$2/index.ts') },
];

/** Each takes ten seconds or more, and says the same on every release of Node. */
const SLOW = [
  'test/servers/race/**/*.test.ts',
  'test/servers/git/hostile.test.ts',
  'test/servers/git/limits.test.ts',
  'test/servers/git/arguments.test.ts',
  'test/servers/bash/sandbox/command-guard.test.ts',
  'test/servers/bash/sandbox/git-programs.test.ts',
  'test/servers/bash/sandbox/sandbox.test.ts',
  'test/servers/bash/policy/differential.test.ts',
  'test/process/watchdog.test.ts',
  'test/servers/project/failing-operations.test.ts',
  'test/servers/attacks/size.test.ts',
  'test/testing/contract-mutations.test.ts',
];

/** Until a test is given up: on one busy core the longest ones take over 20 s. No test says by it that something is fast. */
const PATIENCE_MS = 60_000;

/** On a machine that does other work as well, one failure may be the machine's. The report names what was tried again. */
const RETRIES = process.env.CI === undefined ? 0 : 1;

/** One project a package, one for slow tests and one for those of what is built; `test:fast` leaves these two out. */
const project = (name: string, directory: string, include: string[], exclude: string[] = []) => ({
  resolve: { alias },
  test: {
    name,
    root: source(directory),
    include,
    exclude: ['**/node_modules/**', ...exclude],
    testTimeout: PATIENCE_MS,
    hookTimeout: PATIENCE_MS,
    retry: RETRIES,
  },
});

export default defineConfig({
  test: {
    maxWorkers: 3, // more than the two cores of the least machine: many tests wait
    projects: [
      project('core', './packages/core', ['test/**/*.test.ts'], ['test/built/**', ...SLOW]),
      project('runtime', './packages/runtime', ['test/**/*.test.ts']),
      project('gateway', './packages/gateway', ['test/**/*.test.ts']),
      project('eval', './eval', ['*/test/**/*.test.ts']),
      project('slow', './packages/core', SLOW),
      project('built', './packages/core', ['test/built/**/*.test.ts']),
    ],
  },
});
