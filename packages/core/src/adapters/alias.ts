// Names of tools for model APIs and gateways, which do not allow a dot.

import { sha256 } from './sha256.js';

/** Words joined by single underscores, so that the double one between server and tool is the only one. */
const PLAIN_PART = /^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$/;
/** Accepted by every vendor. */
const MAX_LENGTH = 63;
const HASH_MARK = '___';
const HASH_LENGTH = 8;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * The alias of a tool or a prompt: `server__tool`. It depends only on the qualified name, so it does not change when other tools
 * are added or removed. A name that does not fit is cleaned, cut, and suffixed with `___` and 8 characters of its hash. An
 * alias without a suffix never contains `___`, so no name can be chosen to get the alias of another.
 *
 * Do not split an alias: keep a map from aliases to names.
 *
 * @returns at most 63 characters of `A-Z a-z 0-9 _ -`, the first of them a letter
 */
export function aliasOf(qualifiedName: string): string {
  const dot = qualifiedName.indexOf('.');
  const [server, tool] = [qualifiedName.slice(0, Math.max(dot, 0)), qualifiedName.slice(dot + 1)];
  const plain = `${server}__${tool}`;
  const fits = plain.length <= MAX_LENGTH && /^[A-Za-z]/.test(plain);
  if (fits && PLAIN_PART.test(server) && PLAIN_PART.test(tool)) return plain;
  const cleaned = plain.replaceAll(/[^A-Za-z0-9_-]+/g, '_');
  const head = /^[A-Za-z]/.test(cleaned) ? cleaned : `t${cleaned}`;
  const ending = `${HASH_MARK}${base32(sha256(qualifiedName)).slice(0, HASH_LENGTH)}`;
  return `${head.slice(0, MAX_LENGTH - ending.length)}${ending}`;
}

/** RFC 4648 in lower case, of the first 5 bytes: 8 characters. */
function base32(bytes: Uint8Array): string {
  let bits = 0n;
  for (const byte of bytes.subarray(0, 5)) bits = (bits << 8n) | BigInt(byte);
  let text = '';
  for (let shift = 35n; shift >= 0n; shift -= 5n) text += BASE32[Number((bits >> shift) & 31n)] as string;
  return text;
}
