// The contract suite of ToolProvider: what every provider guarantees, as cases for any test runner.

import { ToolError } from '../contract/errors.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { callCases } from './contract-cases/calls.js';
import { concurrencyCases } from './contract-cases/concurrency.js';
import type { ContractCase } from './contract-cases/contract-case.js';
import { connectingCases } from './contract-cases/connecting.js';
import { listingCases } from './contract-cases/listing.js';
import { preparedCases } from './contract-cases/prepared.js';
import { timeCases } from './contract-cases/time.js';

/** A provider of the tools of {@link contractServer}, and how to dispose of what it uses. */
export interface ContractFixture {
  /** The provider under test. */
  provider: ToolProvider;
  /** Called once after each case, after the provider was disconnected. */
  dispose: () => Promise<void> | void;
}

/** Creates a fixture for one case. Its provider may be connected or not. */
export type ContractFactory = () => ContractFixture | Promise<ContractFixture>;

/** The functions of a test runner that the suite calls, as in vitest, jest, mocha and node:test. */
export interface ContractRunner {
  /** Groups cases under a title. */
  describe: (title: string, body: () => void) => unknown;
  /** Registers one case. */
  it: (title: string, body: () => Promise<void>) => unknown;
}

/** All cases, for a runner without `describe` and `it`. */
export const contractCases: readonly ContractCase[] = [
  ...listingCases,
  ...callCases,
  ...preparedCases,
  ...timeCases,
  ...concurrencyCases,
  ...connectingCases,
];

/**
 * Registers the contract suite with a test runner. Call it in a test file of your provider.
 *
 * @param name the provider's name in the titles
 * @param factory creates a provider of the tools of {@link contractServer}
 * @param runner default: the global `describe` and `it`
 * @throws {ToolError} INVALID_ARGUMENT when `factory` is not a function, or the runner has no `describe`
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
      'toolProviderContract() expects a name, a function that creates a fixture, and { describe, it } of the test runner if they are not global.',
    );
  runner.describe(`${name} keeps the ToolProvider contract`, () => {
    for (const contractCase of contractCases) {
      runner.it(contractCase.title, () => runContractCase(contractCase, factory));
    }
  });
}

/** Runs one case with a new fixture, which is disposed of in any case. @throws {Error} when the case fails */
export async function runContractCase(contractCase: ContractCase, factory: ContractFactory): Promise<void> {
  const { provider, dispose } = await factory();
  try {
    await contractCase.run(provider);
  } finally {
    await provider.disconnect();
    await dispose();
  }
}
