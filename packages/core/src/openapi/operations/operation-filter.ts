// Decides which operations become tools: `include` and `exclude`, as globs or as functions.

import { ToolError } from '../../contract/errors.js';
import { matchesGlob } from '../../provider/name-pattern.js';
import type { OpenApiOperation } from './operation.js';

/**
 * Selects operations: globs, or a function. A glob with a space is matched against `METHOD /path`, such as `GET /pets*`; any
 * other against the tool's name and the `operationId`. `*` matches any characters.
 */
export type OperationFilter = string | readonly string[] | ((operation: OpenApiOperation) => boolean);

/** Whether `filter` selects the operation. @param name the bare name of its tool */
export function selects(filter: OperationFilter, operation: OpenApiOperation, name: string): boolean {
  if (typeof filter === 'function') return filter(operation);
  return [filter].flat().some((glob) => matches(glob, operation, name));
}

function matches(glob: string, { method, path, operationId }: OpenApiOperation, name: string): boolean {
  if (glob.includes(' ')) return matchesGlob(glob, `${method} ${path}`);
  return matchesGlob(glob, name) || (operationId !== undefined && matchesGlob(glob, operationId));
}

/** @throws {ToolError} INVALID_ARGUMENT for anything but globs or a function */
export function assertFilter(option: string, filter: unknown): void {
  const isGlobs = (typeof filter === 'string' || Array.isArray(filter)) && [filter].flat().every(isGlob);
  if (filter === undefined || typeof filter === 'function' || isGlobs) return;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `new OpenApiToolProvider(): ${option} must be a glob such as "GET *", an array of globs, or a function.`,
  );
}

function isGlob(glob: unknown): boolean {
  return typeof glob === 'string' && glob !== '';
}
