// Names the tools. A name depends on the operations of the document and not on their order, so that a rule of a policy does
// not apply to another operation when one is added.

import { createHash } from 'node:crypto';
import type { ApiOperation } from './operation.js';

/** The longest name of a tool. */
const MAX_LENGTH = 64;

/**
 * The name of each operation's tool, in the same order: its `operationId`, else `method_path`, with `_` in place of the
 * characters that names must not have. Operations of one name all get a hash of their method and path.
 */
export function nameOperations(operations: readonly Pick<ApiOperation, 'method' | 'path' | 'operationId'>[]): string[] {
  const plain = operations.map(plainName);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = plain.map((name, at) => {
    const isUnique = counts.get(name) === 1 && name.length <= MAX_LENGTH;
    return isUnique ? name : withHash(name, operations[at] as ApiOperation, 8);
  });
  // A hash may spell another operation's name; a document may even arrange for it.
  const taken = new Set<string>();
  return names.map((name, at) => {
    let free = name;
    for (let digits = 16; taken.has(free); digits += 8) free = withHash(name, operations[at] as ApiOperation, digits);
    taken.add(free);
    return free;
  });
}

function plainName({ method, path, operationId }: Pick<ApiOperation, 'method' | 'path' | 'operationId'>): string {
  const named = operationId === undefined ? '' : cleanName(operationId);
  return named === '' ? cleanName(`${method.toLowerCase()}_${path}`) : named;
}

/** A name of the characters `A-Z a-z 0-9 _ -`; empty if no letter or digit remains. */
function cleanName(text: string): string {
  return text
    .slice(0, 1_000)
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/_{2,}/g, '_')
    .replace(/^[_-]+|[_-]+$/g, '');
}

function withHash(name: string, { method, path }: Pick<ApiOperation, 'method' | 'path'>, digits: number): string {
  const hash = createHash('sha256').update(`${method} ${path}`).digest('hex').slice(0, digits);
  return `${name.slice(0, MAX_LENGTH - 1 - hash.length)}_${hash}`;
}
