// @toolwright/core/process, for implementers of servers and providers: starts programs and ends them.

export { spawnChild, type Child, type ChildExit, type SpawnOptions } from './child-process.js';
export { allowedEnvironment } from './environment.js';
export { type EndOptions } from './kill-ladder.js';
export { endMarked } from './end-marked.js';
export { hasEnded, hostIdentity, type HostIdentity } from './host-identity.js';
