// What a supervisor tells, beside the results of calls.

import { ToolError, type LogEntry, type Logger, type ProviderState, type ToolErrorInfo } from '@toolwright/core';
import { callSafely } from '@toolwright/core/internal';

/** The events of a supervised provider, by name. */
export interface SupervisorEvents {
  /** It came into another state; `error` says why, where it failed. */
  stateChanged: { from: ProviderState; to: ProviderState; error?: ToolErrorInfo };
  /** What the supervisor, or the provider itself, says. */
  log: LogEntry;
  /** Another process took the place of one that failed. Counted from 1, the first process. */
  restarted: { generation: number };
  /** Another version of the provider took the place of the one before. */
  reloaded: { generation: number };
  /** Another version did not come up; the one before goes on. Line counted from 1. */
  reloadFailed: { file?: string; line?: number; message: string };
}

const NAMES: Record<keyof SupervisorEvents, true> = {
  stateChanged: true,
  log: true,
  restarted: true,
  reloaded: true,
  reloadFailed: true,
};

/** Listeners by event. One that throws breaks nothing. */
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
