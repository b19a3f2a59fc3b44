// The event stream of a hub: one source for audit logs, telemetry and user interfaces. Without listeners no event is built.

import { callSafely } from '../call/host-callbacks.js';
import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { redacted } from '../contract/redact.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import type { ProviderEvent } from '../contract/tool-provider.js';

/** The types of {@link HubEvent}. */
export type HubEventType =
  | 'call.queued'
  | 'call.prepared'
  | 'call.judged'
  | 'call.started'
  | 'call.progress'
  | 'call.log'
  | 'call.settled'
  | 'approval.asked'
  | 'approval.answered'
  | 'approval.expired'
  | 'provider.state'
  | 'provider.tools'
  | 'provider.log'
  | 'reload.started'
  | 'reload.switched'
  | 'reload.failed'
  | 'pin.quarantined'
  | 'pin.approved'
  | 'policy.rule';

/** One event. The fields of `data` are documented in docs/events.md; later versions may add fields and types. */
export interface HubEvent extends ProviderEvent {
  /** The version of this format. */
  readonly v: 1;
  /** Grows by one with each event that the hub emits, across all listeners. */
  readonly id: number;
  /** When it was emitted: ISO 8601, UTC. */
  readonly at: string;
  readonly type: HubEventType;
}

/** Options of {@link ToolHub.onEvent}. */
export interface EventOptions {
  /**
   * Adds the arguments of calls to `call.prepared` and their results to `call.settled`, with secrets redacted by name and shape.
   * Default false.
   */
  includeData?: boolean;
}

const EVENT_OPTIONS: OptionNames<EventOptions> = { includeData: true };

/** The types that a provider may emit. */
const FORWARDED: Readonly<Record<Exclude<HubEventType, `call.${string}`> | 'call.judged', true>> = {
  'call.judged': true,
  'approval.asked': true,
  'approval.answered': true,
  'approval.expired': true,
  'provider.state': true,
  'provider.tools': true,
  'provider.log': true,
  'reload.started': true,
  'reload.switched': true,
  'reload.failed': true,
  'pin.quarantined': true,
  'pin.approved': true,
  'policy.rule': true,
};

function isForwarded(type: string): boolean {
  return Object.hasOwn(FORWARDED, type);
}

/** What an event says beyond its type. */
export type EventFields = Omit<ProviderEvent, 'type'>;

/** The listeners of a hub's events. Errors of listeners are ignored. */
export class EventStream {
  readonly #listeners = new Map<object, { listener: (event: HubEvent) => void; includeData: boolean }>();
  #lastId = 0;

  /** False without listeners: then no event needs to be built. */
  hasListeners = false;

  /** Adds a listener; returns a function that removes it. @throws {ToolError} INVALID_ARGUMENT */
  on(listener: (event: HubEvent) => void, options: EventOptions = {}): () => void {
    if (typeof listener !== 'function') throw new ToolError('INVALID_ARGUMENT', 'onEvent() takes a function.');
    assertOptions('onEvent()', options, EVENT_OPTIONS);
    const key = {};
    this.#listeners.set(key, { listener, includeData: options.includeData === true });
    this.hasListeners = true;
    return () => {
      this.#listeners.delete(key);
      this.hasListeners = this.#listeners.size > 0;
    };
  }

  /** Passes on an event of a provider. Those of calls are left out, as the hub reports its own. */
  forward(event: ProviderEvent, provider: string): void {
    if (!this.hasListeners || !isForwarded(event.type)) return;
    const { v: _v, id: _id, at: _at, type, ...fields } = event as HubEvent;
    this.emit(type, { provider, ...fields });
  }

  /** @param more builds the fields that only listeners with `includeData` receive; what it returns is redacted */
  emit(type: HubEventType, fields: EventFields, more?: () => JsonObject): void {
    if (!this.hasListeners) return;
    const { data, ...about } = fields;
    const event = { v: 1 as const, id: ++this.#lastId, at: new Date().toISOString(), type, ...about };
    const brief: HubEvent = Object.freeze(data ? { ...event, data: redacted(data) } : event);
    let full: HubEvent | undefined;
    for (const { listener, includeData } of [...this.#listeners.values()]) {
      if (includeData && more) full ??= Object.freeze({ ...event, data: { ...brief.data, ...redacted(more()) } });
      callSafely(() => listener(includeData ? (full ?? brief) : brief));
    }
  }
}
