// Which client capabilities a server's request needs. A server must not request what a client did not declare.

import type { JsonObject } from '@toolwright/core';
import { isJsonObject } from '@toolwright/core/internal';

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
