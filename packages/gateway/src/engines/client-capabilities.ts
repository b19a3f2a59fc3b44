// Which client capabilities a server's request needs. A server must not request what a client did not declare.

import type { JsonObject } from '@toolwright/core';
import { isJsonObject } from '@toolwright/core/internal';
import { MISSING_CAPABILITY } from '../rpc-error.js';

/** The capabilities that this request needs and the client did not declare; undefined when it declared all of them. */
export function missingCapabilities(method: string, params: unknown, declared: JsonObject): JsonObject | undefined {
  const given = isJsonObject(params) ? params : {};
  const { elicitation, sampling, roots } = declared;
  switch (method) {
    case 'elicitation/create': {
      const mode = given.mode === 'url' ? 'url' : 'form';
      // `elicitation: {}` means forms, as in the revisions that had nothing else.
      const has = isJsonObject(elicitation) && (mode in elicitation || (mode === 'form' && !('url' in elicitation)));
      return has ? undefined : { elicitation: { [mode]: {} } };
    }
    case 'sampling/createMessage': {
      const needsTools = given.tools !== undefined || given.toolChoice !== undefined;
      if (isJsonObject(sampling) && (!needsTools || 'tools' in sampling)) return undefined;
      return { sampling: needsTools ? { tools: {} } : {} };
    }
    case 'roots/list':
      return isJsonObject(roots) ? undefined : { roots: {} };
    default:
      return {}; // no client can answer it
  }
}

/** What servers may require of this client through the gateway. The gateway follows tasks itself. */
export function relayedCapabilities({ elicitation, sampling, roots }: JsonObject): JsonObject {
  return {
    ...(elicitation !== undefined && { elicitation }),
    ...(sampling !== undefined && { sampling }),
    ...(roots !== undefined && { roots }),
  };
}

/** The capabilities that a server's error requires, of those that the gateway relays and the client did not declare. */
export function capabilitiesRequiredBy(error: unknown, declared: JsonObject): JsonObject | undefined {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: unknown };
  const required = isJsonObject(data) ? data.requiredCapabilities : undefined;
  if (code !== MISSING_CAPABILITY || !isJsonObject(required)) return undefined;
  const missing = Object.entries(relayedCapabilities(required)).filter(([name, needed]) => {
    const has = declared[name];
    if (!isJsonObject(has)) return true;
    return isJsonObject(needed) && Object.keys(needed).some((part) => !(part in has));
  });
  return missing.length > 0 ? Object.fromEntries(missing) : undefined;
}
