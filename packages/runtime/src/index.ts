/**
 * Providers in separate processes: starting them, restarting those that fail, and reloading those whose files change. A
 * provider file itself imports `@toolwright/runtime/provider`.
 *
 * @example
 * ```ts
 * import { superviseProcess } from '@toolwright/runtime';
 *
 * await using calculator = superviseProcess({ name: 'calculator', path: 'calculator.ts', cwd: projectDir, watch: true });
 * const sum = await calculator.callTool('calculator.add', { a: 1, b: 2 }); // the first call starts the process
 * ```
 * @module
 */

export { superviseProcess, type SupervisedProcess, type SuperviseProcessOptions } from './reload/supervised-process.js';
export type { ChangeAnalysis, ConfigAction } from './reload/config-change.js';
export { createRegistryServer } from './supervise/registry.js';
export { supervise, type SupervisedToolProvider } from './supervise/supervisor.js';
export type { BackoffOptions, SuperviseOptions } from './supervise/supervisor-options.js';
export type { SupervisorEvents } from './supervise/supervision-events.js';

/** The version that the three packages share. */
export const VERSION = '0.2.0';

// For engines.
export { ProcessToolProvider } from './process/process-provider.js';
export type { ProcessToolProviderOptions } from './process/process-provider-options.js';
export type { ProviderRuntime, RuntimeCommand } from './process/runtimes.js';
export { providerFromModule, type ModuleProviderOptions } from './process/provider-from-module.js';

// For supervision and reload.
export { ProviderGeneration, type GenerationOptions } from './process/generation.js';
export type { ProviderProgram } from './process/start-process.js';
export { ProviderListener, type ListenerOptions } from './wire/listener.js';
export type { Decision, ExportedState, InitializeReason, ProviderSettings } from './wire/protocol.js';

// For what follows files of its own.
export { FileWatch } from './reload/watch.js';
