// An OpenAPI document that was read: its version, and the targets of its references. A reference is followed when it is
// needed, and only within the document.

import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { plainText } from '../../contract/sanitize.js';
import { followPointer } from '../../tool/listed-schema-document.js';

/** The longest chain of references to references. */
const MAX_HOPS = 16;

/** A document of OpenAPI 3.0 or 3.1. */
export class ApiDocument {
  /** The whole document. */
  readonly root: JsonObject;
  /** True for OpenAPI 3.0, whose schemas differ from JSON Schema. */
  readonly isVersion30: boolean;

  /** @throws {ToolError} INVALID_ARGUMENT for anything but a document of OpenAPI 3.0 or 3.1 */
  constructor(root: unknown) {
    if (!isJsonObject(root)) throw malformed('it is not an object');
    const { openapi, swagger } = root;
    if (typeof openapi !== 'string') {
      if (swagger !== undefined)
        throw malformed('it is of Swagger 2.0; convert it to OpenAPI 3, for example with swagger2openapi');
      throw malformed('it has no field "openapi" with its version');
    }
    if (!/^3\.[01](\.|$)/.test(openapi))
      throw malformed(`it is of version ${plainText(openapi, 20)}; versions 3.0 and 3.1 are supported`);
    this.root = root;
    this.isVersion30 = openapi.startsWith('3.0');
  }

  /** The target of a reference such as `#/components/schemas/Pet`; undefined if it is elsewhere or does not exist. */
  target(reference: unknown): unknown {
    return typeof reference === 'string' && reference.startsWith('#/')
      ? followPointer(this.root, reference.slice(1))
      : undefined;
  }

  /** The object itself, or the one that its `$ref` leads to; undefined if that is not an object of the document. */
  resolve(value: unknown): JsonObject | undefined {
    let at = value;
    for (let hops = 0; hops <= MAX_HOPS; hops++) {
      if (!isJsonObject(at)) return undefined;
      if (!Object.hasOwn(at, '$ref')) return at;
      at = this.target(at.$ref);
    }
    return undefined;
  }
}

/** The value of an own key; undefined for anything but an object with it. */
export function fieldOf(value: unknown, key: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The text of an own key; undefined if it is not a text. */
export function textField(value: unknown, key: string): string | undefined {
  const text = fieldOf(value, key);
  return typeof text === 'string' ? text : undefined;
}

/** The error for a document that cannot be used. */
export function malformed(why: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `The OpenAPI document cannot be used: ${why}.`);
}
