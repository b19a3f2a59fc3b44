// One test recipe, passed by name: `vitest run --config vitest.workspace.ts`.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Tests import the packages by name and run their sources; test/built tests the built packages. */
const alias = [
  { find: /^@toolwright\/(core|runtime|gateway)$/, replacement: source('./packages/$1/src/index.ts') },
  { find: /^@toolwright\/core\/adapters\/(.+)$/, replacement: source('./packages/core/src/adapters/$1.ts') },
  { find: /^@toolwright\/(core|runtime|gateway)\/(.+)$/, replacement: source('./packages/$1/src/$2/index.ts') },
];

const NO_ALIAS: typeof alias = [];

/** Tests that take ten seconds or more, and do not depend on the release of Node. */
const SLOW = [
  'test/adapters/version-types.test.ts',
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

/** The longest tests take over 20 s on one busy core. No test relies on this timeout to show that something is fast. */
const TEST_TIMEOUT_MS = 60_000;

/** In CI a busy machine may cause a failure, so a failed test is retried once; the report lists retried tests. */
const RETRIES = process.env.CI === undefined ? 0 : 1;

/** Tests of MCP servers, which run a second time without SDK v2: the provider then uses v1. */
const ENGINES = [
  'test/mcp/contract.test.ts',
  'test/mcp/hostile.test.ts',
  'test/mcp/real-servers.test.ts',
  'test/mcp/transport/http-transport.test.ts',
  'test/mcp/auth/*.test.ts',
  'test/mcp/engines/*.test.ts',
];
const withoutV2 = [{ find: /^@modelcontextprotocol\/client$/, replacement: source('./not-installed') }];

/**
 * One project per package, one for slow tests, one for the other MCP engine and one for tests of the build; `test:fast` skips
 * the last three.
 */
const project = (name: string, directory: string, include: string[], exclude: string[] = [], more = NO_ALIAS) => ({
  resolve: { alias: [...more, ...alias] },
  test: {
    name,
    root: source(directory),
    include,
    exclude: ['**/node_modules/**', ...exclude],
    testTimeout: TEST_TIMEOUT_MS,
    hookTimeout: TEST_TIMEOUT_MS,
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
      project('engine-v1', './packages/core', ENGINES, [], withoutV2),
      project('built', './packages/core', ['test/built/**/*.test.ts']),
    ],
  },
});
