/**
 * The operations of an OpenAPI document as tools. A document in YAML needs the optional peer `js-yaml`; the first connection
 * loads it, not this import.
 *
 * @example
 * ```ts
 * import { textOf } from '@toolwright/core';
 * import { OpenApiToolProvider } from '@toolwright/core/openapi';
 *
 * await using pets = new OpenApiToolProvider({ name: 'pets', document: `${address}/openapi.json` });
 * const result = await pets.callTool('pets.get_pet', { id: 7 });
 * console.log(result.error ? `${result.error.code}: ${result.error.message}` : textOf(result)); // {"id":7,"name":"Rex"}
 * ```
 * @module
 */

import { assertNodeVersion } from '../node-version.js';

export { OpenApiToolProvider } from './openapi-provider.js';
export type { OpenApiToolProviderOptions } from './openapi-options.js';
export type { OperationFilter } from './operations/operation-filter.js';
export type { OpenApiOperation, OpenApiSecurityScheme } from './operations/operation.js';
export type { OpenApiAuth, OpenApiAuthRequest, OpenApiCredentials } from './request/credentials.js';

assertNodeVersion();
