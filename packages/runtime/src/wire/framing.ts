// The limits of frames between the runtime and provider processes, and what can be read from the beginning of a frame.

/** A frame larger than this multiple of the limit ends the connection: no peer sends so much by mistake. */
export const HARD_LIMIT_FACTOR = 4;
/** The highest limit that an option can set, in bytes: a string cannot hold much more than four times that. */
export const MAX_FRAME_BYTES_CEILING = (512 * 1024 * 1024) / HARD_LIMIT_FACTOR;
/** The deepest nesting of a message, itself included. */
export const MAX_DEPTH = 64;

/** The id of a frame, and whether it is a request, as far as its beginning contains them. */
export interface FrameHead {
  id: string | number | undefined;
  isRequest: boolean;
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,{}[\]":]+/y;

/** Reads the top-level keys of a truncated JSON object, in linear time. */
export function headOf(beginning: string): FrameHead {
  const head: FrameHead = { id: undefined, isRequest: false };
  let depth = 0;
  let key: string | undefined;
  for (let at = 0; at < beginning.length;) {
    const char = beginning[at] as string;
    const token = char === '"' ? matchAt(STRING, beginning, at) : matchAt(SCALAR, beginning, at);
    if (token === undefined) {
      if (char === '"') return head; // a truncated string
      if (char === '{' || char === '[') depth++;
      else if (char === '}' || char === ']') depth--;
      if (char === ',') key = undefined;
      at++;
      continue;
    }
    at += token.length;
    if (depth !== 1 || at >= beginning.length) continue;
    const value = valueOf(token);
    if (key === undefined) {
      if (typeof value === 'string') key = value;
      if (key === 'method') head.isRequest = true;
    } else if (key === 'id' && (typeof value === 'string' || typeof value === 'number')) head.id = value;
  }
  return head;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function valueOf(token: string): unknown {
  try {
    return JSON.parse(token);
  } catch {
    return undefined; // truncated, or not JSON
  }
}
