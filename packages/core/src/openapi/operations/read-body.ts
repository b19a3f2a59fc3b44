// Reads the request body of an operation, and chooses the media type in which it is sent.

import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { fieldOf, textField, type ApiDocument } from '../document/api-document.js';
import type { ApiBody, BodyFormat } from './operation.js';
import { UnusableOperation } from './unusable-operation.js';

/** A media type without parameters. https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1 */
const MEDIA_TYPE = /^[!#$&^_.+\w-]+\/[!#$&^_.+\w-]+$/;
/** The most preferred first. */
const PREFERENCE: readonly BodyFormat[] = ['json', 'form', 'multipart', 'text', 'binary'];

/**
 * Reads the body; undefined for an operation without one.
 *
 * @throws {UnusableOperation} when a required body cannot be sent
 */
export function readBody(document: ApiDocument, given: unknown): ApiBody | undefined {
  if (given === undefined) return undefined;
  const body = document.resolve(given);
  if (!body) throw new UnusableOperation('its body refers to something outside the document');
  const required = body.required === true;
  const choices = Object.entries(isJsonObject(body.content) ? body.content : {}).flatMap(([key, media]) => {
    const mediaType = bareType(key);
    return mediaType === undefined || !isJsonObject(media) ? [] : [{ mediaType, media, format: formatOf(mediaType) }];
  });
  const best = choices.toSorted((one, other) => PREFERENCE.indexOf(one.format) - PREFERENCE.indexOf(other.format))[0];
  if (!best) {
    if (required) throw new UnusableOperation('its body has no valid media type');
    return undefined;
  }
  const { mediaType, media, format } = best;
  return {
    required,
    description: textField(body, 'description'),
    mediaType,
    format,
    schema: media.schema,
    encodings: encodingsOf(media),
  };
}

/** The media type without parameters, in lower case; ranges become the type that is sent for them. */
export function bareType(key: string): string | undefined {
  const type = key.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === '*/*') return 'application/json';
  if (type === 'application/*') return 'application/octet-stream';
  if (type === 'text/*') return 'text/plain';
  return MEDIA_TYPE.test(type) ? type : undefined;
}

/** True for `application/json` and types such as `application/problem+json`. */
export function isJsonType(type: string): boolean {
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json');
}

/** True for types whose content is text. */
export function isTextType(type: string): boolean {
  return (
    type.startsWith('text/') ||
    type.endsWith('+xml') ||
    type.endsWith('+yaml') ||
    /^application\/(xml|yaml|x-yaml|javascript|graphql|jsonl|ndjson|x-ndjson|sql|toml)$/.test(type)
  );
}

function formatOf(type: string): BodyFormat {
  if (isJsonType(type)) return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (type === 'multipart/form-data') return 'multipart';
  return isTextType(type) ? 'text' : 'binary';
}

function encodingsOf(media: JsonObject): ReadonlyMap<string, JsonObject> {
  const encodings = fieldOf(media, 'encoding');
  const entries = isJsonObject(encodings) ? Object.entries(encodings) : [];
  return new Map(entries.filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1])));
}
