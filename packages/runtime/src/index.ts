// @toolwright/runtime: provider processes, supervision and hot reload.

export { supervise, type SupervisedToolProvider } from './supervise/supervisor.js';
export type { BackoffOptions, SuperviseOptions } from './supervise/options.js';
export type { SupervisorEvents } from './supervise/events.js';

/** The version that the three packages share. */
export const VERSION = '0.1.0';
