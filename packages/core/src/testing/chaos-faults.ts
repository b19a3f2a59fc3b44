// Which fault meets which call: decided by the seed, the tool, the arguments and how often that call was made, so that a run can
// be repeated even if its calls overlap in another order.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../contract/canonical-json.js';
import { ToolError, type ToolErrorCode } from '../contract/errors.js';
import type { ToolResult } from '../contract/result.js';
import type { ToolDefinition } from '../contract/tool-definition.js';

/** How likely each fault is, from 0 (never) to 1 (always). Default: 0. */
export interface ChaosFaults {
  /** The call is delayed, in addition to any other fault. */
  delay?: number;
  /** The call fails with `UNAVAILABLE`, `BUSY` or `EXECUTION_FAILED`; the tool does not run. */
  fail?: number;
  /** The call does not settle until it is cancelled, its deadline passes or the provider disconnects; the tool does not run. */
  hang?: number;
  /**
   * The provider is lost while the tool runs: all its calls in flight fail with `OUTCOME_UNKNOWN`, and it loses its state. The next
   * call connects it again.
   */
  crash?: number;
  /** The tool runs, and the text of its result is replaced by a large one. */
  oversized?: number;
  /** The tool runs, and something that is not a result is returned, or the call rejects. */
  garbage?: number;
  /**
   * A list of tools differs from that of the provider: tools are missing, reordered or described differently. And a call is
   * followed by a report that the list has changed.
   */
  flap?: number;
}

/** What happens to one call. */
export interface ChaosPlan {
  readonly delayMs: number;
  readonly fault: 'fail' | 'hang' | 'crash' | 'oversized' | 'garbage' | undefined;
  /** Whether the list of tools is reported as changed after the call. */
  readonly flaps: boolean;
  /** Draws a number from 0 to below 1, for the details. */
  readonly draw: () => number;
}

/** The faults of which a call meets at most one. */
const EXCLUSIVE = ['fail', 'hang', 'crash', 'oversized', 'garbage'] as const;
const FAILURES: readonly ToolErrorCode[] = ['UNAVAILABLE', 'BUSY', 'EXECUTION_FAILED'];

export class FaultPlans {
  readonly #faults: ChaosFaults;
  readonly #seed: string;
  readonly #maxDelayMs: number;
  readonly #repeats = new Map<string, number>();

  constructor(faults: ChaosFaults, seed: string, maxDelayMs: number) {
    this.#faults = faults;
    this.#seed = seed;
    this.#maxDelayMs = maxDelayMs;
  }

  /** The plan of the next call of a tool with these arguments. */
  ofCall(name: string, args: unknown): ChaosPlan {
    const draw = this.#draws(canonicalJson([String(name), args]) ?? String(name));
    const { delay = 0, flap = 0 } = this.#faults;
    const flaps = draw() < flap;
    const isDelayed = draw() < delay;
    const delayMs = isDelayed ? draw() * this.#maxDelayMs : 0;
    let left = draw();
    for (const fault of EXCLUSIVE) {
      left -= this.#faults[fault] ?? 0;
      if (left < 0) return { delayMs, fault, flaps, draw };
    }
    return { delayMs, fault: undefined, flaps, draw };
  }

  /** The next list of tools: as it is, or flapped. */
  list(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
    const draw = this.#draws('list');
    if (draw() >= (this.#faults.flap ?? 0)) return tools;
    const kind = draw();
    if (kind < 0.6) return Object.freeze(tools.filter(() => draw() < 0.5));
    if (kind < 0.8) return Object.freeze(tools.toReversed());
    const text = `Changed by chaos: ${Math.floor(draw() * 1e6)}.`;
    return Object.freeze(tools.map((tool) => (draw() < 0.5 ? tool : Object.freeze({ ...tool, description: text }))));
  }

  /** Numbers from 0 to below 1, which depend only on the seed, the key and how often the key was used. */
  #draws(call: string): () => number {
    const key = createHash('sha256').update(call).digest('base64'); // arguments may be large
    const count = (this.#repeats.get(key) ?? 0) + 1;
    this.#repeats.set(key, count);
    const stream = JSON.stringify([this.#seed, key, count]);
    let index = 0;
    return () => {
      const digest = createHash('sha256').update(`${stream}${index++}`).digest();
      return digest.readUInt32BE() / 2 ** 32;
    };
  }
}

/** The error of an injected failure. */
export function injectedFailure(draw: () => number, seed: string): ToolError {
  const code = FAILURES[Math.floor(draw() * FAILURES.length)] ?? 'UNAVAILABLE';
  return new ToolError(code, `chaos() made this call fail (seed ${seed}).`);
}

/** The result with a text of that many bytes. */
export function oversized(result: ToolResult, bytes: number): ToolResult {
  return { ...result, content: [{ type: 'text', text: 'x'.repeat(bytes) }] };
}

/** Something that is not a result. @throws something that is not an error, at times */
export function garbage(draw: () => number): unknown {
  const cyclic: Record<string, unknown> = { isError: false, directives: [] };
  cyclic.content = [cyclic];
  const values: readonly (() => unknown)[] = [
    () => undefined,
    () => null,
    () => 'text in place of a result',
    () => ({}),
    () => ({ content: 'not an array', isError: 'perhaps' }),
    () => ({ content: [{ type: 'text' }], isError: false, directives: 'none' }),
    () => cyclic,
    () => {
      throw new Error('chaos() made this call reject');
    },
  ];
  return values[Math.floor(draw() * values.length)]?.();
}
