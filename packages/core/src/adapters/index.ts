/**
 * The names of tools for model APIs that do not allow a dot, and what the entries for each API share. Imports nothing of
 * Node, so that it also runs in a browser.
 *
 * @example
 * ```ts
 * import { aliasOf } from '@toolwright/core/adapters';
 *
 * console.log(aliasOf('github.create_issue')); // github__create_issue
 * ```
 * @module
 */

export { aliasOf } from './alias.js';
export type { KitOptions, ModelCallResult } from './kit-core.js';
export type { ToolKit, Turn } from './tool-kit.js';
export type { SchemaLoss } from './schema-loss.js';
