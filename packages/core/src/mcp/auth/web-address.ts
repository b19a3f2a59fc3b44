// Which web addresses are followed when a server, not the host, names them: OAuth's discovery, and where a person is sent.

import { isIPv4, isIPv6 } from 'node:net';
import { ToolError } from '../../contract/errors.js';

/** True for this machine, by name or by number. */
export function isLoopback(hostname: string): boolean {
  const host = bare(hostname);
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
  );
}

/**
 * Refuses what a server of that address has no business to name: plain http beyond loopback, and numbers of private
 * networks where the server itself is on the public one. A name that resolves to such a number is not seen here.
 *
 * @throws {ToolError} PERMISSION_DENIED
 */
export function assertFollowable(named: string | URL, server: URL): URL {
  const url = new URL(named);
  if (url.origin === server.origin) return url;
  const secure = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  const inward = isPrivate(url.hostname) && !isPrivate(server.hostname);
  if (secure && !inward && url.username === '' && url.password === '') return url;
  const shown = `${url.protocol}//${url.host}`.slice(0, 200);
  throw new ToolError(
    'PERMISSION_DENIED',
    `The server at ${server.origin} named ${shown}, which is not followed: it must be https, and not inside a private network.`,
  );
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry and its IPv6 sister, as far as they lead inward. */
function isPrivate(hostname: string): boolean {
  if (isLoopback(hostname)) return true;
  const host = bare(hostname); // the URL parser has made 0x7f.1 and 2130706433 into 127.0.0.1 already
  if (isIPv4(host))
    return /^(0|10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./.test(host);
  return isIPv6(host) && /^(::|::ffff:.*|64:ff9b:.*|fe[89ab][0-9a-f]:.*|f[cd][0-9a-f]{2}:.*)$/.test(host);
}

function bare(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}
