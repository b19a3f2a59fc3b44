// The events of a supervisor.

import {
  ToolError,
  type JsonObject,
  type LogEntry,
  type Logger,
  type ProviderEvent,
  type ProviderState,
  type ToolErrorInfo,
} from '@toolwright/core';
import { callSafely } from '@toolwright/core/internal';

/** The events of a supervised provider, by name. */
export interface SupervisorEvents {
  /** The state changed; `error` is the reason after a failure. */
  stateChanged: { from: ProviderState; to: ProviderState; error?: ToolErrorInfo };
  /** A log entry of the supervisor or of the provider. */
  log: LogEntry;
  /** A new process replaced one that failed. Counted from 1, the first process. */
  restarted: { generation: number };
  /** A new version of the provider is being started. */
  reloading: Record<never, never>;
  /** A new version of the provider replaced the previous one. */
  reloaded: { generation: number };
  /** A new version failed to start; the previous one continues. Lines are counted from 1. */
  reloadFailed: { file?: string; line?: number; message: string };
}

const NAMES: Record<keyof SupervisorEvents, true> = {
  stateChanged: true,
  log: true,
  restarted: true,
  reloading: true,
  reloaded: true,
  reloadFailed: true,
};

/** The type of each event in a hub's event stream. A restart is a change of state there. */
export const HUB_EVENTS: Omit<Record<keyof SupervisorEvents, string>, 'restarted'> = {
  stateChanged: 'provider.state',
  log: 'provider.log',
  reloading: 'reload.started',
  reloaded: 'reload.switched',
  reloadFailed: 'reload.failed',
};

/** The event in the form of a hub's event stream, without the fields of log entries. */
export function providerEventOf<Name extends keyof SupervisorEvents>(
  name: Name,
  event: SupervisorEvents[Name],
): ProviderEvent {
  const { fields: _fields, ...data } = event as LogEntry & JsonObject;
  return { type: HUB_EVENTS[name as keyof typeof HUB_EVENTS], data: data };
}

/** Listeners by event. Errors of listeners are ignored. */
export class Events {
  readonly #listeners = new Map<keyof SupervisorEvents, Set<(event: never) => void>>();

  on<Name extends keyof SupervisorEvents>(name: Name, listener: (event: SupervisorEvents[Name]) => void): () => void {
    if (!Object.hasOwn(NAMES, name) || typeof listener !== 'function') {
      const names = Object.keys(NAMES).join(', ');
      throw new ToolError('INVALID_ARGUMENT', `on() takes the name of an event (${names}) and a function.`);
    }
    let listeners = this.#listeners.get(name);
    if (!listeners) this.#listeners.set(name, (listeners = new Set()));
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  emit<Name extends keyof SupervisorEvents>(name: Name, event: SupervisorEvents[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) callSafely(() => listener(event as never));
  }
}

/** A logger whose lines are `log` events too. */
export function loggerWithEvents(logger: Logger, events: Events): Logger {
  const write =
    (level: LogEntry['level']) =>
    (message: string, fields?: object): void => {
      logger[level](message, ...(fields === undefined ? [] : [fields]));
      events.emit('log', { level, message, ...(fields !== undefined && { fields }) });
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
