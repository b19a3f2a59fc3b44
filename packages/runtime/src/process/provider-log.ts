// A provider's log entries, sanitised for the host's log.

import type { JsonObject, LogEntry, Logger } from '@toolwright/core';
import { isJsonObject, plainText, withoutSecretsInside } from '@toolwright/core/internal';

const MAX_MESSAGE = 8_192;
const MAX_FIELDS = 16_384;

/**
 * The entry of a `notifications/message`: without control characters and secrets, cut after 8 Ki characters. Fields of
 * more than 16 Ki characters as JSON are replaced by their number of characters.
 */
export function logEntryOf({ level, data }: JsonObject, secrets: readonly string[]): LogEntry {
  const given = isJsonObject(data) ? data : { message: data };
  const { message, ...rest } = withoutSecretsInside(given, secrets) as JsonObject;
  const text = typeof message === 'string' ? message : (JSON.stringify(message) ?? '');
  const characters = Object.keys(rest).length === 0 ? 0 : JSON.stringify(rest).length;
  return {
    level: levelOf(level),
    message: plainText(text, MAX_MESSAGE),
    ...(characters > 0 && { fields: characters > MAX_FIELDS ? { fieldsLeftOut: characters } : rest }),
  };
}

/** Writes an entry to the host's logger. */
export function writeLog(logger: Logger, { level, message, fields }: LogEntry): void {
  if (fields) logger[level](message, fields);
  else logger[level](message);
}

/** The level of a {@link Logger} for one of MCP's levels. */
function levelOf(level: unknown): keyof Logger {
  switch (level) {
    case 'debug':
    case 'info':
    case 'error':
      return level;
    case 'warning':
    case 'warn':
      return 'warn';
    case 'critical':
    case 'alert':
    case 'emergency':
      return 'error';
    default:
      return 'info';
  }
}
