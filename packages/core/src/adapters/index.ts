/**
 * The names of tools for model APIs that do not allow a dot. Imports nothing of Node, so that it also runs in a
 * browser.
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
