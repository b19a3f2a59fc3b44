// Decides where an operation's requests are sent. There is one origin for all of them, and no document can name another.

import { ToolError } from '../../contract/errors.js';
import { isJsonObject } from '../../contract/json.js';
import { plainText } from '../../contract/sanitize.js';
import { fieldOf, textField, type ApiDocument } from '../document/api-document.js';
import { UnusableOperation } from './unusable-operation.js';

/**
 * The address that requests are sent to, for a document from a URL whose provider has no `server`: the first server of the
 * document, if it has the document's origin.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a server with another origin
 */
export function serverOfDocument(document: ApiDocument, location: URL): URL {
  const { servers } = document.root;
  const [first] = Array.isArray(servers) ? (servers as unknown[]) : [];
  const url = first === undefined ? new URL('/', location) : addressOf(first, location);
  if (url?.origin === location.origin) return url;
  const named = url ? url.origin : 'no valid address';
  throw new ToolError(
    'INVALID_ARGUMENT',
    `The OpenAPI document at ${location.origin} names ${named} as its server. Requests are sent only to the origin of the ` +
      `document unless you set \`server\`${url ? `, for example to ${plainText(url.href, 200)}` : ''}.`,
  );
}

/**
 * The address for one operation: its own server or that of its path, if it has the origin of `base`.
 *
 * @throws {UnusableOperation} for an operation of another origin
 */
export function serverOf(given: unknown, base: URL): URL {
  if (!Array.isArray(given) || given.length === 0) return base;
  const urls = given.map((server) => addressOf(server, base));
  const url = urls.find((candidate) => candidate?.origin === base.origin);
  if (url) return url;
  const named = urls.find((candidate) => candidate !== undefined)?.origin ?? 'an invalid address';
  throw new UnusableOperation(
    `its own server is ${plainText(named, 100)}, and requests are sent only to ${base.origin}`,
  );
}

/** The address of a server object, with the defaults of its variables; undefined if it is not one for HTTP. */
function addressOf(server: unknown, base: URL): URL | undefined {
  const template = textField(server, 'url');
  if (template === undefined) return undefined;
  const variables = fieldOf(server, 'variables');
  const text = template.replace(/\{([^{}]{1,100})\}/g, (whole, name: string) => {
    const value = isJsonObject(variables) ? fieldOf(fieldOf(variables, name), 'default') : undefined;
    return typeof value === 'string' || typeof value === 'number' ? String(value) : whole;
  });
  if (!URL.canParse(text, base.href)) return undefined;
  const url = new URL(text, base);
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return isPlain && (url.protocol === 'https:' || url.protocol === 'http:') && !/[{}]|%7B|%7D/i.test(url.pathname)
    ? url
    : undefined;
}
