// Language servers in results.

import type { ProjectScope } from '../../project/scope/project-scope.js';
import type { ClientState, LanguageClient } from './language-client.js';
import { objectSchema } from '../../../tool/object-schema.js';

/** A server in a result. */
export interface ServerRow {
  name: string;
  state: ClientState;
  /** Its directory. */
  root: string;
  version?: string;
  /** Why it last exited. */
  error?: string;
}

/** {@link ServerRow}, in JSON Schema. */
export const serverOutput = objectSchema(
  {
    name: { type: 'string' },
    state: { type: 'string', enum: ['idle', 'starting', 'ready', 'waiting', 'failed'] },
    root: { type: 'string' },
  },
  {
    version: { type: 'string' },
    error: { type: 'string', description: 'Why it last exited.' },
  },
);

/** One server. */
export function serverRow(client: LanguageClient, scope: ProjectScope): ServerRow {
  const { launch, state, root, running, failure } = client;
  const version = running?.version ?? launch.version;
  return {
    name: launch.name,
    state,
    root: scope.find(root)?.shown ?? root,
    ...(version !== undefined && { version }),
    ...(failure && { error: failure.message }),
  };
}
