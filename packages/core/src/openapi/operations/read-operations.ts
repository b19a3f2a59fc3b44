// Reads the operations of a document. One that cannot be called is left out with a warning; the others are not affected.

import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { plainText } from '../../contract/sanitize.js';
import { fieldOf, textField, type ApiDocument } from '../document/api-document.js';
import { METHODS, type ApiOperation, type OpenApiSecurityScheme } from './operation.js';
import { readBody } from './read-body.js';
import { readParameters } from './read-parameters.js';
import { readResponses } from './read-responses.js';
import { serverOf } from './servers.js';
import { UnusableOperation } from './unusable-operation.js';

/** Further operations are left out with a warning. */
export const MAX_OPERATIONS = 10_000;
/** Characters of a path: no control characters, no spaces, no query or fragment, and no backslash. */
const PATH = /^\/[^\p{C}\p{Z}?#\\]*$/u;
const DOT_SEGMENT = /(^|\/)(\.|%2e){1,2}(\/|$)/i;

/**
 * Reads all operations, in the document's order.
 *
 * @param base where requests are sent
 * @param warn receives a sentence for each operation that was left out
 */
export function readOperations(document: ApiDocument, base: URL, warn: (message: string) => void): ApiOperation[] {
  const operations: ApiOperation[] = [];
  const keys = credentialKeys(document);
  for (const [path, given] of Object.entries(objectOf(document.root.paths))) {
    if (path.startsWith('x-')) continue;
    const item = document.resolve(given);
    for (const method of METHODS) {
      const operation = fieldOf(item, method);
      if (item === undefined || operation === undefined) {
        if (item === undefined && method === METHODS[0])
          warn(`The path "${plainText(path, 100)}" was left out: it refers to something outside the document.`);
        continue;
      }
      if (operations.length === MAX_OPERATIONS) {
        warn(`All operations beyond the first ${MAX_OPERATIONS} were left out: that is the limit.`);
        return operations;
      }
      const name = `${method.toUpperCase()} ${path}`;
      try {
        operations.push(readOperation(document, { method, path, item, operation, base, keys }));
      } catch (thrown) {
        if (!(thrown instanceof UnusableOperation)) throw thrown;
        warn(`The operation "${plainText(name, 100)}" was left out: ${thrown.message}.`);
      }
    }
  }
  return operations;
}

interface Found {
  method: string;
  path: string;
  item: JsonObject;
  operation: unknown;
  base: URL;
  keys: ReadonlySet<string>;
}

function readOperation(document: ApiDocument, { method, path, item, operation, base, keys }: Found): ApiOperation {
  if (!isJsonObject(operation)) throw new UnusableOperation('it is not an object');
  if (!PATH.test(path) || DOT_SEGMENT.test(path))
    throw new UnusableOperation('its path has a character or a segment that paths must not have');
  const operationId = textField(operation, 'operationId');
  const parameters = readParameters(document, path, [item.parameters, operation.parameters], keys);
  const { tags } = operation;
  return {
    method: method.toUpperCase(),
    path,
    ...(operationId !== undefined && operationId !== '' && { operationId }),
    tags: Object.freeze(Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === 'string') : []),
    deprecated: operation.deprecated === true,
    summary: textField(operation, 'summary') ?? textField(item, 'summary'),
    description: textField(operation, 'description') ?? textField(item, 'description'),
    parameters,
    body: readBody(document, operation.requestBody),
    ...readResponses(document, operation.responses),
    security: readSecurity(document, operation.security ?? document.root.security),
    base: serverOf(operation.servers ?? item.servers, base),
  };
}

/** The parameters that carry credentials, as `in:name`: `auth` sets them, and no argument does. */
function credentialKeys(document: ApiDocument): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const given of Object.values(schemesOf(document))) {
    const scheme = document.resolve(given);
    if (scheme?.type === 'apiKey') keys.add(`${String(scheme.in)}:${String(scheme.name).toLowerCase()}`);
  }
  return keys;
}

function readSecurity(document: ApiDocument, given: unknown): readonly OpenApiSecurityScheme[] {
  const schemes = new Map<string, OpenApiSecurityScheme>();
  for (const alternative of Array.isArray(given) ? given : []) {
    for (const [name, scopes] of Object.entries(objectOf(alternative))) {
      const scheme = document.resolve(fieldOf(schemesOf(document), name));
      const type = textField(scheme, 'type');
      if (type === undefined || schemes.has(name)) continue;
      const http = textField(scheme, 'scheme');
      const place = textField(scheme, 'in');
      const key = textField(scheme, 'name');
      schemes.set(
        name,
        Object.freeze({
          name,
          type,
          ...(http !== undefined && { scheme: http }),
          ...(place !== undefined && { in: place }),
          ...(key !== undefined && { key }),
          scopes: Object.freeze(Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : []),
        }),
      );
    }
  }
  return Object.freeze([...schemes.values()]);
}

function schemesOf(document: ApiDocument): JsonObject {
  return objectOf(fieldOf(document.root.components, 'securitySchemes'));
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
