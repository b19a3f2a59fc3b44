// The limits for the text of one answer, and the notices about what they cut.

import { ToolError } from '../../contract/errors.js';
import { assertOptions, shownValue, type OptionNames } from '../../contract/options.js';

/** The limits for the text of one answer. */
export interface OutputLimits {
  /** Maximum lines of one answer. Default: 2,000. */
  maxLines: number;
  /** Maximum UTF-8 bytes of one answer. Default: 50 KiB. */
  maxBytes: number;
}

/** The usual limits of coding agents: at most about 15,000 tokens. */
const DEFAULT_OUTPUT_LIMITS: OutputLimits = { maxLines: 2_000, maxBytes: 50 * 1024 };
const LIMIT_NAMES: OptionNames<OutputLimits> = { maxLines: true, maxBytes: true };

/**
 * The option `output` of a server, with its defaults.
 *
 * @param where the function that has the option, for the error
 * @throws {ToolError} INVALID_ARGUMENT for a limit that is unknown or too small
 */
export function outputLimits(where: string, given: Partial<OutputLimits> = {}, minBytes = 1024): OutputLimits {
  assertOptions(where, given, LIMIT_NAMES, 'output.');
  const limits = { ...DEFAULT_OUTPUT_LIMITS, ...given };
  const isAtLeast = (value: unknown, least: number): boolean => typeof value === 'number' && value >= least;
  if (isAtLeast(limits.maxLines, 1) && isAtLeast(limits.maxBytes, minBytes)) return limits;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `output needs maxLines of at least 1 and maxBytes of at least ${minBytes}, not ${shownValue(limits.maxLines)} and ${shownValue(limits.maxBytes)}.`,
  );
}

/** Collects lines until one more would exceed a limit. The first line always fits; it is cut if necessary. */
export class LineBudget {
  readonly #limits: OutputLimits;
  readonly #lines: string[] = [];
  #bytes = 0;

  constructor(limits: OutputLimits) {
    this.#limits = limits;
  }

  /** Adds a line; returns false if it exceeds a limit. */
  add(line: string): boolean {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#lines.length >= this.#limits.maxLines) return false;
    if (this.#bytes + bytes > this.#limits.maxBytes) {
      if (this.#lines.length > 0) return false;
      this.#lines.push(cutText(line, this.#limits.maxBytes));
      this.#bytes = this.#limits.maxBytes;
      return true;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
    return true;
  }

  get count(): number {
    return this.#lines.length;
  }

  text(): string {
    return this.#lines.join('\n');
  }
}

/** The beginning of a text of at most `maxBytes` UTF-8 bytes, cut between characters. */
export function cutText(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** The beginning of a text within the limits, with a notice if it was cut. */
export function limitText(text: string, limits: OutputLimits, more: (lines: number) => string): string {
  const lines = text.split('\n');
  if (lines.length <= limits.maxLines && Buffer.byteLength(text) < limits.maxBytes) return text;
  const budget = new LineBudget(limits);
  for (const [index, line] of lines.entries()) {
    if (!budget.add(line)) return `${budget.text()}\n${more(lines.length - index)}`;
  }
  return budget.text();
}
