// Reads the parameters of an operation: those of its path, replaced by its own of the same place and name.

import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { plainText } from '../../contract/sanitize.js';
import { fieldOf, textField, type ApiDocument } from '../document/api-document.js';
import type { ApiParameter, ParameterPlace } from './operation.js';
import { UnusableOperation } from './unusable-operation.js';

const MAX_PARAMETERS = 500;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** The styles of each place; the first is the default. https://spec.openapis.org/oas/v3.1.1.html#style-values */
const STYLES: Readonly<Record<ParameterPlace, readonly string[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
};
/** Headers that OpenAPI reserves, and those by which HTTP frames and routes a request. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  ...['accept', 'content-type', 'authorization', 'proxy-authorization', 'cookie', 'host', 'accept-encoding'],
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
  ...['content-length', 'content-encoding', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
  // By these some servers run another operation than the one that was judged.
  ...['x-http-method-override', 'x-http-method', 'x-method-override', 'x-original-url', 'x-rewrite-url'],
]);

/** The names between braces in a path, in order. */
export function namesInPath(path: string): string[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name as string);
}

/**
 * Reads the parameters, in the order path, query, header, cookie.
 *
 * @param lists the lists of the path and of the operation
 * @param credentials the parameters that only `auth` sets, as `place:name`
 * @throws {UnusableOperation} when a required parameter cannot be sent
 */
export function readParameters(
  document: ApiDocument,
  path: string,
  lists: readonly unknown[],
  credentials: ReadonlySet<string>,
): readonly ApiParameter[] {
  const inPath = new Set(namesInPath(path));
  const found = new Map<string, ApiParameter>();
  for (const list of lists) {
    for (const given of Array.isArray(list) ? (list as unknown[]) : []) {
      const parameter = readParameter(document, given);
      if (!parameter || (parameter.place === 'path' && !inPath.has(parameter.name))) continue;
      found.set(keyOf(parameter.place, parameter.name), parameter);
      if (found.size > MAX_PARAMETERS) throw new UnusableOperation(`it has more than ${MAX_PARAMETERS} parameters`);
    }
  }
  for (const key of credentials) found.delete(key);
  for (const name of inPath) {
    const key = keyOf('path', name);
    // Some documents leave out a parameter that the path names.
    if (!found.has(key)) found.set(key, { ...UNDECLARED, name });
  }
  const parameters = [...found.values()];
  return (['path', 'query', 'header', 'cookie'] as const).flatMap((place) =>
    parameters.filter((parameter) => parameter.place === place),
  );
}

const UNDECLARED: Omit<ApiParameter, 'name'> = {
  place: 'path',
  required: true,
  description: undefined,
  schema: { type: 'string' },
  isJson: false,
  style: 'simple',
  explode: false,
  allowReserved: false,
};

/** Header names are not case-sensitive. */
function keyOf(place: string, name: string): string {
  return `${place}:${place === 'header' ? name.toLowerCase() : name}`;
}

/** Undefined for a parameter that is not sent. */
function readParameter(document: ApiDocument, given: unknown): ApiParameter | undefined {
  const parameter = document.resolve(given);
  const name = textField(parameter, 'name');
  const place = textField(parameter, 'in') as ParameterPlace | undefined;
  if (!parameter || name === undefined || name === '' || place === undefined || !Object.hasOwn(STYLES, place)) {
    if (isJsonObject(given) && Object.hasOwn(given, '$ref') && !parameter)
      throw new UnusableOperation('a parameter refers to something outside the document');
    return undefined;
  }
  if (place === 'header' && RESERVED_HEADERS.has(name.toLowerCase())) return undefined;
  const required = place === 'path' || parameter.required === true;
  if ((place === 'header' || place === 'cookie') && !TOKEN.test(name)) {
    if (!required) return undefined;
    throw new UnusableOperation(
      `the name of its ${place} "${plainText(name, 60)}" has a character that HTTP does not allow`,
    );
  }
  const content = contentOf(parameter);
  const styles = STYLES[place];
  const wanted = textField(parameter, 'style');
  const style = wanted !== undefined && styles.includes(wanted) ? wanted : (styles[0] as string);
  return {
    name,
    place,
    required,
    description: textField(parameter, 'description'),
    schema: content ? fieldOf(content, 'schema') : parameter.schema,
    isJson: content !== undefined,
    style,
    explode: typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form',
    allowReserved: place === 'query' && parameter.allowReserved === true,
  };
}

/** The media type of a parameter that has `content` in place of `schema`. */
function contentOf(parameter: JsonObject): JsonObject | undefined {
  const { content } = parameter;
  if (parameter.schema !== undefined || !isJsonObject(content)) return undefined;
  const [media] = Object.values(content);
  return isJsonObject(media) ? media : undefined;
}
