// Reads what an operation returns when it succeeds: the media types to accept, and the schema of its JSON.

import { isJsonObject } from '../../contract/json.js';
import type { ApiDocument } from '../document/api-document.js';
import type { ApiOperation } from './operation.js';
import { bareType, isJsonType } from './read-body.js';

const MAX_TYPES = 10;

/** The media types of the successful responses, JSON first, and their schema. */
export function readResponses(document: ApiDocument, given: unknown): Pick<ApiOperation, 'accepts' | 'output'> {
  const types = new Set<string>();
  const outputs = new Map<string, unknown>();
  let isAlwaysJson = true;
  for (const [status, response] of Object.entries(isJsonObject(given) ? given : {})) {
    if (!/^2(\d\d|XX)$/i.test(status)) continue;
    const content = document.resolve(response)?.content;
    const media = Object.entries(isJsonObject(content) ? content : {});
    const json = media.find(([type]) => isJsonType(bareType(type) ?? ''))?.[1];
    const schema = isJsonObject(json) ? json.schema : undefined;
    if (schema === undefined) isAlwaysJson = false;
    else outputs.set(JSON.stringify(schema), schema);
    for (const [type] of media) {
      const bare = bareType(type);
      if (bare !== undefined && types.size < MAX_TYPES) types.add(bare);
    }
  }
  const accepts = [...types].toSorted((one, other) => Number(isJsonType(other)) - Number(isJsonType(one)));
  const [output] = outputs.values();
  return { accepts, output: isAlwaysJson && outputs.size === 1 ? output : undefined };
}
