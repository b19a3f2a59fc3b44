// The error class with its closed list of codes, and the conversion of anything thrown to it.

import type { JsonObject } from './json.js';

/**
 * Every code of a {@link ToolError}, grouped by who should act on it. The list is closed: an unknown code from a peer is not
 * accepted.
 */
export const TOOL_ERROR_CODES = [
  // The caller.
  'INVALID_ARGUMENT', // an argument or option is wrong; correct it and call again
  'TOOL_NOT_FOUND', // no such tool; the message names similar ones
  'NAME_CONFLICT', // two providers claim one name or prefix; rename one
  'PERMISSION_DENIED', // the policy or the operating system denied it
  'APPROVAL_REQUIRED', // the policy requires an approval, and nothing can answer
  // The project.
  'NOT_FOUND', // no such file or directory
  'OUTSIDE_PROJECT', // the path resolves outside the project and its extra roots
  'PROTECTED_PATH', // the file's content runs code; `allowProtected` permits writing it
  'BINARY_FILE', // the file is not text
  'TOO_LARGE', // above a limit; request less
  'READ_REQUIRED', // read the file before changing it
  'FILE_CHANGED', // the file changed since it was read; read it again
  'NO_MATCH', // the text to replace was not found, or a replayed call was not recorded
  'MULTIPLE_MATCHES', // the text to replace was found more than once
  'NO_CHANGE', // the change would change nothing
  'NOT_A_REPOSITORY', // the project is not a git repository
  'LOCKED', // it is locked by another process; try again
  'NO_SPACE', // the disk or the quota is full
  // Time.
  'CANCELLED', // the caller's signal was aborted
  'TIMED_OUT', // the deadline passed
  // The peer.
  'NOT_CONNECTED', // the provider was disconnected; connect it again
  'CONNECTION_CLOSED', // the connection ended before the call was done
  'PROTOCOL_VIOLATION', // the peer broke the protocol
  'FRAME_TOO_LARGE', // a message was above the size limit
  'BUSY', // all slots are in use; try again
  'UNAVAILABLE', // the service cannot be reached now
  'OUTCOME_UNKNOWN', // the peer died after the call was sent: it may have run
  // The process.
  'SPAWN_FAILED', // the program could not be started
  'PROCESS_EXITED', // the program ended
  'RESTART_LIMIT', // the program failed too often; it restarts after a delay, or manually
  // The tool.
  'EXECUTION_FAILED', // the tool threw, or its server reported a failure
  'OUTPUT_INVALID', // the tool's output does not match its schema
  'INTERNAL', // a fault in Toolwright, in a provider or in a middleware
] as const;

/** One of `TOOL_ERROR_CODES`. */
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** The plain form of a {@link ToolError}, as a result carries it. */
export interface ToolErrorInfo {
  /** The code, for programs. */
  code: ToolErrorCode;
  /** What failed, what was expected and what to do next. */
  message: string;
  /** True when the same call may succeed later and repeating it is safe. */
  retryable: boolean;
  /** JSON with more information: counts, line numbers, similar names. */
  details?: JsonObject;
}

/** Options of {@link ToolError}. */
export interface ToolErrorOptions {
  /** The provider that failed. */
  provider?: string | undefined;
  /** The qualified name of the tool that failed. */
  tool?: string | undefined;
  /** JSON with more information: counts, line numbers, similar names. */
  details?: JsonObject | undefined;
  /** Default: true for `BUSY`, `LOCKED` and `UNAVAILABLE`, false for every other code. */
  retryable?: boolean | undefined;
  /** The error that caused it. */
  cause?: unknown;
}

const BRAND = Symbol.for('toolwright.ToolError');
const CODES: ReadonlySet<string> = new Set(TOOL_ERROR_CODES);
const RETRYABLE: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>(['BUSY', 'LOCKED', 'UNAVAILABLE']);

/** The codes of system errors. https://man7.org/linux/man-pages/man3/errno.3.html */
const BY_ERRNO: Readonly<Record<string, ToolErrorCode>> = {
  ENOENT: 'NOT_FOUND',
  ENOTDIR: 'NOT_FOUND',
  EACCES: 'PERMISSION_DENIED',
  EPERM: 'PERMISSION_DENIED',
  EROFS: 'PERMISSION_DENIED',
  ENOSPC: 'NO_SPACE',
  EDQUOT: 'NO_SPACE',
  EBUSY: 'LOCKED',
  ETXTBSY: 'LOCKED',
  EFBIG: 'TOO_LARGE',
  ENAMETOOLONG: 'INVALID_ARGUMENT',
  EINVAL: 'INVALID_ARGUMENT',
  EISDIR: 'INVALID_ARGUMENT',
  ELOOP: 'INVALID_ARGUMENT',
  ENXIO: 'INVALID_ARGUMENT',
  EEXIST: 'INVALID_ARGUMENT',
  ECONNREFUSED: 'UNAVAILABLE',
  EMFILE: 'UNAVAILABLE',
  ENFILE: 'UNAVAILABLE',
  EAGAIN: 'UNAVAILABLE',
  ECONNRESET: 'CONNECTION_CLOSED',
  EPIPE: 'CONNECTION_CLOSED',
  ETIMEDOUT: 'TIMED_OUT',
};

/**
 * The error class of Toolwright. Functions reject with it; a tool call never rejects and reports the plain form of the error as
 * `result.error` instead.
 *
 * Recognise it with {@link ToolError.isInstance}, which also accepts errors of another copy of this package.
 */
export class ToolError extends Error {
  /** The name of the class, as of every `Error`. */
  override readonly name = 'ToolError';
  /** What failed, for programs: one of `TOOL_ERROR_CODES`. */
  readonly code: ToolErrorCode;
  // The optional fields are declared only, so that an uncaught error shows no empty fields.
  /** The provider that failed. */
  declare readonly provider?: string;
  /** The qualified name of the tool that failed. */
  declare readonly tool?: string;
  /** JSON with more information: counts, line numbers, similar names. */
  declare readonly details?: JsonObject;
  /** True when the same call may succeed later and repeating it is safe. */
  readonly retryable: boolean;

  constructor(code: ToolErrorCode, message: string, options?: ToolErrorOptions);
  /** Creates it from the plain form of a result. */
  constructor(info: Pick<ToolErrorInfo, 'code' | 'message'> & ToolErrorOptions);
  constructor(
    first: ToolErrorCode | (Pick<ToolErrorInfo, 'code' | 'message'> & ToolErrorOptions),
    text = '',
    given: ToolErrorOptions = {},
  ) {
    const { code, message, options } =
      typeof first === 'string'
        ? { code: first, message: text, options: given }
        : { code: first.code, message: first.message, options: first };
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = CODES.has(code) ? code : 'INTERNAL'; // JavaScript callers may pass any text
    this.retryable = options.retryable ?? RETRYABLE.has(code);
    if (options.provider !== undefined) this.provider = options.provider;
    if (options.tool !== undefined) this.tool = options.tool;
    if (options.details !== undefined) this.details = options.details;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /**
   * Turns anything thrown into a ToolError. A ToolError is returned as it is (one of another copy of the package is
   * converted), an `AbortError` becomes `CANCELLED`, a `TimeoutError` becomes `TIMED_OUT`, a system error gets the code of
   * its errno, and anything else gets `fallback`.
   */
  static from(
    thrown: unknown,
    fallback: ToolErrorCode = 'EXECUTION_FAILED',
    options: ToolErrorOptions = {},
  ): ToolError {
    if (thrown instanceof ToolError) return thrown;
    const { code, details, retryable } = brandOf(thrown);
    return new ToolError(code ?? codeOf(thrown) ?? fallback, messageOf(thrown), {
      cause: thrown,
      details,
      retryable,
      ...options,
    });
  }

  /** True for a ToolError of this or any other copy of the package. */
  static isInstance(value: unknown): value is ToolError {
    return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[BRAND] === true;
  }

  /** True for one of `TOOL_ERROR_CODES`. */
  static isCode(value: unknown): value is ToolErrorCode {
    return typeof value === 'string' && CODES.has(value);
  }

  /** The plain form, for results and messages. */
  toInfo(): ToolErrorInfo {
    const { code, message, retryable, details } = this;
    return details === undefined ? { code, message, retryable } : { code, message, retryable, details };
  }
}

/** The fields of an error of another copy of the package, checked, as they may be anything. */
function brandOf(thrown: unknown): { code?: ToolErrorCode; details?: JsonObject; retryable?: boolean } {
  try {
    if (!ToolError.isInstance(thrown)) return {};
    const { code, details, retryable } = thrown as Partial<ToolErrorInfo>;
    return {
      ...(ToolError.isCode(code) && { code }),
      ...(typeof details === 'object' && (details as unknown) !== null && { details }),
      ...(typeof retryable === 'boolean' && { retryable }),
    };
  } catch {
    return {}; // an accessor that throws
  }
}

function codeOf(thrown: unknown): ToolErrorCode | undefined {
  if (typeof thrown !== 'object' || thrown === null || ToolError.isInstance(thrown)) return undefined;
  const { name, code } = thrown as { name?: unknown; code?: unknown };
  if (name === 'AbortError') return 'CANCELLED';
  if (name === 'TimeoutError') return 'TIMED_OUT';
  const errno = systemCodeOf(thrown) ?? code;
  return typeof errno === 'string' && Object.hasOwn(BY_ERRNO, errno) ? BY_ERRNO[errno] : undefined;
}

/** Errnos without a name in Node, whose code is then "Unknown system error -122": of Linux, then of macOS and the BSDs. */
const UNNAMED_ERRNOS: Readonly<Record<number, string>> = { [-122]: 'EDQUOT', [-116]: 'ESTALE', [-69]: 'EDQUOT' };

/** The code of a system error, such as `'ENOENT'`. */
export function systemCodeOf(error: unknown): string | undefined {
  const { code, errno } = Object(error ?? {}) as { code?: unknown; errno?: unknown };
  if (typeof code !== 'string') return undefined;
  return code.startsWith('Unknown system error') && typeof errno === 'number' ? (UNNAMED_ERRNOS[errno] ?? code) : code;
}

/** The message of anything thrown. Never throws, even if an accessor of its argument does. */
export function messageOf(thrown: unknown): string {
  if (thrown === undefined) return 'undefined was thrown';
  try {
    const { message, name } = Object(thrown) as { message?: unknown; name?: unknown };
    if (typeof message === 'string' && message !== '') return message;
    if (thrown instanceof Error && typeof name === 'string') return name;
    const text: (value: unknown) => string = String;
    return text(thrown);
  } catch {
    return 'a value that cannot be shown was thrown'; // a hostile accessor or toString, or a null prototype
  }
}
