// Parses the text of a document, JSON or YAML, within limits: its size is limited where it is read, here its depth, its
// aliases and its number of values.

import type * as Yaml from 'js-yaml';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { plainText } from '../../contract/sanitize.js';
import { ApiDocument, malformed } from './api-document.js';

type YamlModule = Pick<typeof Yaml, 'load'>;

/** Deeper than real documents: the deepest of those that we know has 40 levels. */
const MAX_DEPTH = 100;
/** GitHub's document has 900,000 values. */
const MAX_VALUES = 5_000_000;
/** Aliases in one YAML document; each is the same value again. */
const MAX_ALIASES = 1_000;

/**
 * Parses a document. A text that begins with `{` is JSON, any other is YAML 1.2.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a malformed or unsupported document, UNAVAILABLE without the package `js-yaml`
 */
export async function parseDocument(text: string): Promise<ApiDocument> {
  const content = text.replace(/^\uFEFF/, '');
  const value = /^\s*\{/.test(content) ? parseJson(content) : await parseYaml(content);
  new Budget().spend(value, 0);
  return new ApiDocument(value);
}

/**
 * Copies a document that was given as an object.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a malformed or unsupported document
 */
export function copyDocument(value: JsonObject): ApiDocument {
  return new ApiDocument(new Budget().copy(value, 0));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw malformed(`it begins like JSON, but is not: ${plainText((thrown as Error).message, 200)}`);
  }
}

async function parseYaml(text: string): Promise<unknown> {
  let yaml: YamlModule;
  try {
    yaml = await import('js-yaml');
  } catch (cause) {
    throw new ToolError(
      'UNAVAILABLE',
      'OpenAPI documents in YAML need the package js-yaml (5.5 or later): npm install js-yaml',
      { cause, retryable: false },
    );
  }
  try {
    return yaml.load(text, { maxDepth: MAX_DEPTH, maxAliases: MAX_ALIASES });
  } catch (thrown) {
    const { reason, message } = thrown as { reason?: unknown; message: string };
    throw malformed(
      `it is neither JSON nor valid YAML: ${plainText(typeof reason === 'string' ? reason : message, 200)}`,
    );
  }
}

/** Counts values where they stand, so that one that aliases repeat counts as often as it would be visited. */
class Budget {
  #left = MAX_VALUES;

  spend(value: unknown, depth: number): void {
    this.#enter(depth);
    if (typeof value !== 'object' || value === null) return;
    for (const key in value) this.spend((value as JsonObject)[key], depth + 1);
  }

  copy(value: unknown, depth: number): unknown {
    this.#enter(depth);
    if (Array.isArray(value)) return value.map((item) => this.copy(item, depth + 1));
    if (isJsonObject(value)) {
      const entries = Object.entries(value).filter(([, item]) => item !== undefined);
      return Object.fromEntries(entries.map(([key, item]) => [key, this.copy(item, depth + 1)]));
    }
    return ['string', 'number', 'boolean'].includes(typeof value) ? value : null;
  }

  #enter(depth: number): void {
    if (depth > MAX_DEPTH) throw malformed(`it is circular, or nested deeper than ${MAX_DEPTH} levels`);
    if (--this.#left < 0) throw malformed(`it has more than ${MAX_VALUES} values`);
  }
}
