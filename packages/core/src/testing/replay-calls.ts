// Which recorded call answers a call: of those with the same name and equal arguments, the first that was not used.

import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { nearestNames } from '../contract/nearest-names.js';
import type { RecordedCall } from '../recording/recording-format.js';
import { keyOf, type ReadCall, type ReadPrepare, type Recording } from '../recording/recording-reader.js';
import { describeDifferences, differencesOf, type Difference } from './call-difference.js';

/** A queue of equal calls, in the order in which they were made. */
interface Equals<Entry> {
  readonly entries: Entry[];
  used: number;
}

export class ReplayCalls {
  readonly #file: string;
  readonly #recording: Recording;
  readonly #calls: readonly ReadCall[];
  readonly #repeats: boolean;
  readonly #byKey: ReadonlyMap<string, Equals<ReadCall>>;
  readonly #prepares: ReadonlyMap<string, Equals<ReadPrepare>>;
  readonly #used = new Set<ReadCall>();
  /** How many calls at the beginning are all used. */
  #usedFirst = 0;

  /** @param repeats whether a call that was made more often than recorded gets the last result again */
  constructor(file: string, recording: Recording, repeats: boolean) {
    this.#file = file;
    this.#recording = recording;
    this.#repeats = repeats;
    // A hub prepares a stale call again and makes it again; the second one has the result.
    this.#calls = recording.calls.filter(
      ({ result }) => !(result?.result.own && isStale(result.result.error?.details)),
    );
    this.#byKey = grouped(this.#calls);
    this.#prepares = grouped(recording.prepares);
  }

  /** The recorded calls that were not used. */
  get unused(): readonly ReadCall[] {
    return this.#calls.filter((call) => !this.#used.has(call));
  }

  /** The line of the first call that was not used; `Infinity` when all were. */
  get nextLine(): number {
    for (; this.#usedFirst < this.#calls.length; this.#usedFirst++) {
      const call = this.#calls[this.#usedFirst] as ReadCall;
      if (!this.#used.has(call)) return call.line;
    }
    return Infinity;
  }

  /** Whether {@link take} would find a call. */
  has(call: RecordedCall): boolean {
    const equals = this.#byKey.get(keyOf(call));
    return equals !== undefined && (this.#repeats || equals.used < equals.entries.length);
  }

  /** The recorded call that answers a call, which is used then. */
  take(call: RecordedCall): ReadCall | undefined {
    const taken = this.has(call) ? next(this.#byKey.get(keyOf(call))) : undefined;
    if (taken) this.#used.add(taken);
    return taken;
  }

  /** The prepared form of a call. Preparing runs nothing, so that the last one answers further ones. */
  prepared(call: RecordedCall): ReadPrepare | undefined {
    return next(this.#prepares.get(keyOf(call)));
  }

  /** The error of a call that was not recorded: how it differs from the nearest one that was. */
  unexpected(call: RecordedCall): ToolError {
    const { incomplete } = this.#recording;
    const { text, details } = this.#explain(call);
    const notice = incomplete === undefined ? '' : `\nThe recording is incomplete: ${incomplete}`;
    return new ToolError('NO_MATCH', `${text}${notice}`, { details });
  }

  #explain(call: RecordedCall): { text: string; details: JsonObject } {
    const name = call.name ?? '';
    const equal = this.#byKey.get(keyOf(call));
    if (equal) {
      const lines = equal.entries.map(({ line }) => line);
      const times = lines.length === 1 ? 'once' : `${lines.length} times`;
      const where = `line${lines.length === 1 ? '' : 's'} ${lines.slice(0, 10).join(', ')}`;
      const text = `"${name}" was called more often with these arguments than in the recording ${this.#file}, which has the call ${times} (${where}).`;
      return { text, details: { lines } };
    }
    const nearest = this.#nearest(call);
    if (!nearest) {
      const names = new Set(this.#calls.flatMap((recorded) => recorded.name ?? []));
      const similar = nearestNames(name, names);
      const hint = similar.length > 0 ? `The nearest recorded tools are ${similar.join(', ')}.` : 'It has no calls.';
      return { text: `The recording ${this.#file} has no call of "${name}". ${hint}`, details: { nearest: similar } };
    }
    const { recorded, differences } = nearest;
    const text =
      `The recording ${this.#file} has no call of "${name}" with these arguments. The nearest one, in line ` +
      `${recorded.line}${this.#used.has(recorded) ? ', which was used already,' : ''} differs:\n${describeDifferences(differences)}`;
    return { text, details: { line: recorded.line, differences: differences.slice(0, 10) } };
  }

  /** The call of that tool with the fewest differences; of equally near ones, the first that was not used. */
  #nearest(call: RecordedCall): { recorded: ReadCall; differences: Difference[] } | undefined {
    let best: { recorded: ReadCall; differences: Difference[]; distance: number } | undefined;
    for (const recorded of this.#calls) {
      if (recorded.name !== call.name) continue;
      const differences = differencesOf(recorded.args, call.args);
      const distance = differences.length + (this.#used.has(recorded) ? 0.5 : 0);
      if (!best || distance < best.distance) best = { recorded, differences, distance };
    }
    return best;
  }
}

function isStale(details: JsonObject | undefined): boolean {
  return details?.prepareAgain === true;
}

function grouped<Entry extends { readonly key: string }>(entries: readonly Entry[]): Map<string, Equals<Entry>> {
  const groups = new Map<string, Equals<Entry>>();
  for (const entry of entries) {
    const group = groups.get(entry.key);
    if (group) group.entries.push(entry);
    else groups.set(entry.key, { entries: [entry], used: 0 });
  }
  return groups;
}

/** The next entry; the last one again when there is none. */
function next<Entry>(equals: Equals<Entry> | undefined): Entry | undefined {
  return equals && (equals.entries[equals.used++] ?? equals.entries.at(-1));
}
