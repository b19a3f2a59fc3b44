// The logging interface that Toolwright writes to; `console` and pino satisfy it.

/** A logger, such as `console` or a pino logger. Toolwright never logs arguments or results. */
export interface Logger {
  /** Details for developers. */
  debug(message: string, fields?: object): void;
  /** Normal events. */
  info(message: string, fields?: object): void;
  /** Something unexpected that did not make anything fail. */
  warn(message: string, fields?: object): void;
  /** A failure. */
  error(message: string, fields?: object): void;
}

/** Discards every message. */
export const SILENT_LOGGER: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * The default logger: emits warnings and errors with `process.emitWarning` and the type `ToolwrightWarning`, each text once
 * in a process; discards the rest. Node prints them to stderr; an application handles them with
 * `process.on('warning', …)`, or sets a logger.
 */
export const WARNING_LOGGER: Logger = { debug() {}, info() {}, warn: emitOnce, error: emitOnce };

/** The texts emitted so far. Bounded, as texts with numbers or paths may all differ. */
const emitted = new Set<string>();
const MAX_EMITTED = 1_000;

function emitOnce(message: string): void {
  if (emitted.has(message)) return;
  if (emitted.size >= MAX_EMITTED) emitted.clear();
  emitted.add(message);
  // Adapters also run where `process` does not exist.
  globalThis.process?.emitWarning?.(message, 'ToolwrightWarning');
}

/** A logger that passes every entry on to `onLog` too. */
export function teeLogger(logger: Logger, onLog: (entry: LogEntry) => void): Logger {
  const write =
    (level: keyof Logger) =>
    (message: string, fields?: object): void => {
      logger[level](message, ...(fields === undefined ? [] : [fields]));
      onLog({ level, message, ...(fields !== undefined && { fields }) });
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** One log entry of a tool, written during a call. */
export interface LogEntry {
  /** The method of {@link Logger} that was called. */
  level: keyof Logger;
  /** The message. */
  message: string;
  /** Structured data that belongs to it. */
  fields?: object;
}
