// The logging interface that Toolwright writes to. It has no logger of its own: console and pino both fit.

import type { CallOptions } from './tool-provider.js';

/** Four methods, satisfied by `console` and by pino. Nothing of Toolwright logs arguments or results. */
export interface Logger {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

/** Says nothing; what a provider uses when it is given no logger. */
export const SILENT_LOGGER: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A logger whose lines `onLog` is told of too. */
export function heardLogger(logger: Logger, onLog: NonNullable<CallOptions['onLog']>): Logger {
  const write =
    (level: keyof Logger) =>
    (message: string, fields?: object): void => {
      logger[level](message, ...(fields === undefined ? [] : [fields]));
      onLog({ level, message, ...(fields !== undefined && { fields }) });
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
