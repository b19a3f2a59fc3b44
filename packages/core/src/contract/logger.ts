// The logging interface that Toolwright writes to. It has no logger of its own: console and pino both fit.

/** Four methods, satisfied by `console` and by pino. Nothing of Toolwright logs arguments or results. */
export interface Logger {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

/** Drops every line. */
export const SILENT_LOGGER: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * What a hub or a provider uses when it is given no logger: warnings and errors go through `process.emitWarning` with the
 * type `ToolwrightWarning`, each text once a process; the rest is dropped. Node prints them to stderr; an application
 * handles them with `process.on('warning', …)`, or gives a logger.
 */
export const WARNING_LOGGER: Logger = { debug() {}, info() {}, warn: emitOnce, error: emitOnce };

/** Texts that were emitted. Bounded: a text that holds a number or a path may be new each time. */
const emitted = new Set<string>();
const MAX_EMITTED = 1_000;

function emitOnce(message: string): void {
  if (emitted.has(message)) return;
  if (emitted.size >= MAX_EMITTED) emitted.clear();
  emitted.add(message);
  // The adapters' part of this package also runs where there is no `process`.
  globalThis.process?.emitWarning?.(message, 'ToolwrightWarning');
}

/** A logger whose lines `onLog` is told of too. */
export function heardLogger(logger: Logger, onLog: (entry: LogEntry) => void): Logger {
  const write =
    (level: keyof Logger) =>
    (message: string, fields?: object): void => {
      logger[level](message, ...(fields === undefined ? [] : [fields]));
      onLog({ level, message, ...(fields !== undefined && { fields }) });
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** What a tool said during a call. */
export interface LogEntry {
  level: keyof Logger;
  message: string;
  fields?: object;
}
