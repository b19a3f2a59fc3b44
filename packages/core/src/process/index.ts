/**
 * Starting programs and ending them with everything that they have started. For implementers of servers and providers;
 * nothing else in these packages imports `node:child_process`.
 *
 * @example
 * ```ts
 * import { spawnChild } from '@toolwright/core/process';
 *
 * await using child = spawnChild({ command: 'node', args: ['--version'], cwd: process.cwd() });
 * let version = '';
 * child.stdout.on('data', (chunk: Buffer) => (version += chunk.toString()));
 * const { code } = await child.exited;
 * console.log(code, version.trim());
 * ```
 * @module
 */

export { spawnChild, type Child, type ChildExit, type SpawnOptions } from './child-process.js';
export { allowedEnvironment } from './environment.js';
export { type EndOptions } from './kill-ladder.js';
export { endMarked } from './end-marked.js';
export { hasEnded, hostIdentity, type HostIdentity } from './host-identity.js';
