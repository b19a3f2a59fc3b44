// The conformance suite of ToolProvider: what every provider promises, as cases that any test runner can run.

import { ToolError } from '../contract/errors.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { callCases } from './contract-cases/calls.js';
import { concurrencyCases } from './contract-cases/concurrency.js';
import type { ContractCase } from './contract-cases/contract-case.js';
import { lifecycleCases } from './contract-cases/lifecycle.js';
import { listingCases } from './contract-cases/listing.js';
import { preparedCases } from './contract-cases/prepared.js';
import { timeCases } from './contract-cases/time.js';

/** A provider that serves the tools of {@link contractServer}, and how to end what stands behind it. */
export interface ContractFixture {
  /** The provider under test. */
  provider: ToolProvider;
  /** Called once after each case, when the provider has been disconnected. */
  dispose: () => Promise<void> | void;
}

/** Makes a fresh fixture for one case. The provider may be connected or not. */
export type ContractFactory = () => ContractFixture | Promise<ContractFixture>;

/** The two functions of a test runner that the suite needs; vitest, jest, mocha and node:test have them. */
export interface ContractRunner {
  /** Groups cases under a title. */
  describe: (title: string, body: () => void) => unknown;
  /** Registers one case. */
  it: (title: string, body: () => Promise<void>) => unknown;
}

/** Every case, for a runner without `describe` and `it`. */
export const contractCases: readonly ContractCase[] = [
  ...listingCases,
  ...callCases,
  ...preparedCases,
  ...timeCases,
  ...concurrencyCases,
  ...lifecycleCases,
];

/**
 * Registers the suite with a test runner: call it in a test file of your provider.
 *
 * @param factory must serve the tools of {@link contractServer}
 * @param runner default: the global `describe` and `it`
 * @example
 * ```ts
 * toolProviderContract('InProcessToolProvider', () => ({
 *   provider: new InProcessToolProvider({ servers: [contractServer()] }),
 *   dispose() {},
 * }), { describe, it });
 * ```
 */
export function toolProviderContract(
  name: string,
  factory: ContractFactory,
  runner: ContractRunner = globalThis as unknown as ContractRunner,
): void {
  if (typeof (runner as Partial<ContractRunner> | undefined)?.describe !== 'function' || typeof factory !== 'function')
    throw new ToolError(
      'INVALID_ARGUMENT',
      'toolProviderContract() takes a name, a function that makes a provider, and { describe, it } of the test runner where they are not global.',
    );
  runner.describe(`${name} keeps the ToolProvider contract`, () => {
    for (const contractCase of contractCases) {
      runner.it(contractCase.title, () => runContractCase(contractCase, factory));
    }
  });
}

/** Runs one case against a fresh fixture, and ends the fixture whatever happens. */
export async function runContractCase(contractCase: ContractCase, factory: ContractFactory): Promise<void> {
  const { provider, dispose } = await factory();
  try {
    await contractCase.run(provider);
  } finally {
    await provider.disconnect();
    await dispose();
  }
}
