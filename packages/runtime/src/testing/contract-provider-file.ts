// The paths of the contract's provider files, which are programs in the package and not part of its modules.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ToolError } from '@toolwright/core';

/** In which language a provider file is. */
export type ContractLanguage = 'typescript' | 'javascript' | 'python';

const FILES: Record<ContractLanguage, string> = {
  typescript: 'contract-provider.ts',
  javascript: 'contract-provider.mjs',
  python: 'contract_provider.py',
};

/**
 * The absolute path of a provider file that serves the tools of `contractServer()`, under the name `contract`: what
 * `toolProviderContract` calls. Use it to test another way of starting provider files, such as a container, a wrapper, or a
 * provider around `ProcessToolProvider`.
 *
 * The files import `@toolwright/runtime/provider` and `@toolwright/core/testing`, or in Python `toolwright_provider`, from
 * the package that contains them. A copy in another place works only where these packages are installed.
 *
 * @param language default: `'javascript'`
 * @throws {ToolError} INVALID_ARGUMENT for another language, NOT_FOUND where a bundler has left the file out
 * @example
 * ```ts
 * toolProviderContract('my provider', () => ({
 *   provider: new ProcessToolProvider({ name: 'contract', path: contractProviderFile('python') }),
 *   dispose() {},
 * }));
 * ```
 */
export function contractProviderFile(language: ContractLanguage = 'javascript'): string {
  if (!Object.hasOwn(FILES, language)) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Unknown contract provider language ${String(language)}; valid languages: ${Object.keys(FILES).join(', ')}.`,
    );
  }
  // Seen from the built modules, or from the sources and dist/testing.
  const places = ['../contract/', '../../contract/'].map((folder) =>
    fileURLToPath(new URL(folder + FILES[language], import.meta.url)),
  );
  const file = places.find((place) => existsSync(place));
  if (file !== undefined) return file;
  throw new ToolError(
    'NOT_FOUND',
    `The contract provider file was not found at ${places.join(', ')}. Do not bundle this package.`,
  );
}
