// What a provider logs, as the logger of its host has it.

import type { Logger } from '@toolwright/core';
import type { LogParams } from '../wire/protocol.js';

/** A line of a provider's log, to the logger of its host. */
export function logLine(logger: Logger, { level, data }: LogParams): void {
  const { message, ...fields } = typeof data === 'object' && (data as unknown) !== null ? data : { message: data };
  const text = typeof message === 'string' ? message : (JSON.stringify(message) ?? '');
  const to = levelOf(level);
  if (Object.keys(fields).length > 0) logger[to](text, fields);
  else logger[to](text);
}

/** The levels of a {@link Logger}, and MCP's further ones as the nearest of them. */
export function levelOf(level: unknown): keyof Logger {
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
