// Decides which URLs from a server are followed: those of OAuth discovery and of the sign-in page.

import { isIPv4, isIPv6 } from 'node:net';
import { ToolError } from '../../contract/errors.js';

/** True for a loopback name or address. */
export function isLoopback(hostname: string): boolean {
  const host = bare(hostname);
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
  );
}

/**
 * Rejects plain http except for loopback, and addresses in private networks unless the server's address is private too. Does not
 * resolve names, so a name with a private address is accepted.
 *
 * @throws {ToolError} PERMISSION_DENIED for a URL that must not be followed
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
    `The server at ${server.origin} sent the URL ${shown}, which is not followed: it must use https and must not be in a private network.`,
  );
}

/** Private and local ranges of https://www.iana.org/assignments/iana-ipv4-special-registry and its IPv6 counterpart. */
function isPrivate(hostname: string): boolean {
  if (isLoopback(hostname)) return true;
  const host = bare(hostname); // the URL parser has normalised 0x7f.1 and 2130706433 to 127.0.0.1
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
