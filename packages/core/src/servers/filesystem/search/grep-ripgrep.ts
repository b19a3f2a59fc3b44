// grep by ripgrep: its arguments, and how rows are ordered although it searches in parallel.

import { showName } from '../../project/open/directory-entries.js';
import { fileTypeMatcher } from './file-types.js';
import { keepProven } from './grep-proof.js';
import { GrepRows, type AcceptPath } from './grep-rows.js';
import { GrepSink } from './grep-sink.js';
import type { GrepOutcome, GrepQuestion } from './grep-question.js';
import { IgnoreRules } from './ignore-rules.js';
import { orderKey } from './path-order.js';
import type { Piece } from './row-proof.js';
import { runRipgrep } from './ripgrep.js';

/** @throws {ToolError} INVALID_ARGUMENT for arguments that ripgrep rejects; CANCELLED */
export async function grepByRipgrep(command: string, question: GrepQuestion): Promise<GrepOutcome> {
  const found = await find(command, question);
  const { mode, multiline } = question.args;
  const countAgain = (descriptors: readonly string[]): Promise<Map<string, number>> =>
    countDescriptors(command, question, descriptors);
  const canCount = mode === 'count' && !multiline && question.scope.verification === 'descriptor';
  return { ...found, changed: await keepProven(question, found.sink, canCount ? countAgain : undefined) };
}

async function find(command: string, question: GrepQuestion): Promise<Omit<GrepOutcome, 'changed'>> {
  const { scope, place, args, signal } = question;
  // In ripgrep a --glob overrides ignore files and types, which is not intended here.
  const rules = place.file === undefined ? await IgnoreRules.below(scope, place.directory.path) : undefined;
  const { path: searched } = place.directory;
  const mustFilter = rules && (args.glob !== undefined || searched.absolute !== searched.root.path);
  const isOfType = args.type === undefined ? undefined : fileTypeMatcher(args.type);
  const mustTell = isOfType && args.glob !== undefined;
  const accept: AcceptPath = async (path) => {
    const shown = place.show(path);
    if (shown === undefined || (mustTell && !isOfType(path))) return undefined;
    return mustFilter && (await rules.isIgnored(path, false)) ? undefined : shown;
  };
  const deadline = performance.now() + args.timeoutMs;
  const run = async (order: readonly string[]): Promise<{ sink: GrepSink; timedOut: boolean }> => {
    const sink = new GrepSink(args.limit, question.after);
    const counted = args.mode !== 'content' && isJson(args) ? new CountedRows(args, question, accept) : undefined;
    const collector =
      counted ??
      (isJson(args)
        ? new GrepRows(sink, question.linesAfter, accept)
        : new CountRows((name, count) => addCount(sink, accept, name, count)));
    const { timedOut } = await runRipgrep({
      command,
      args: [...order, ...ripgrepArguments(question)],
      cwd: place.directory.address,
      timeoutMs: Math.max(1, deadline - performance.now()),
      signal,
      onOutput: async (chunk) => {
        const goOn = await collector.push(chunk);
        question.report(sink.count);
        return goOn;
      },
    });
    return { sink: counted ? counted.finish() : sink, timedOut };
  };
  // In order it searches on one core and stops at the limit; without an order it is faster, and all is wanted.
  const ordered = ['--sort=path'];
  const isOne = place.file !== undefined;
  const first = await run(question.after || isOne ? ordered : []);
  if (question.after || isOne || !first.sink.full) {
    return { ...first, isPrefix: question.after !== undefined || isOne };
  }
  const second = await run(ordered);
  return second.timedOut && second.sink.count < first.sink.count
    ? { ...first, timedOut: true, isPrefix: false }
    : { ...second, isPrefix: true };
}

function ripgrepArguments({ place, args, linesBefore, linesAfter }: GrepQuestion): string[] {
  const json = ['--json', `--before-context=${linesBefore}`, `--after-context=${linesAfter}`];
  const one = place.file === undefined ? [] : ['--max-depth=1', `--glob=/${escapeGlob(place.file)}`];
  const globs = place.file === undefined ? (args.glob ?? []) : [];
  return [
    ...(isJson(args) ? json : COUNT),
    ...(args.mode === 'files' && !args.multiline ? ['--max-count=1'] : []),
    ...one,
    ...globs.map((glob) => `--glob=${glob}`),
    ...(args.type === undefined || globs.length > 0 ? [] : [`--type=${args.type}`]),
    '--max-filesize=256M',
    ...patternArguments(args),
  ];
}

function patternArguments(args: GrepQuestion['args']): string[] {
  return [
    ...(args.multiline ? ['--multiline'] : []),
    ...(args.literal ? ['--fixed-strings'] : []),
    { sensitive: '--case-sensitive', insensitive: '--ignore-case', smart: '--smart-case' }[args.case],
    ...(args.word ? ['--word-regexp'] : []),
    '-e',
    args.pattern,
  ];
}

const COUNT = ['--count', '--null', '--with-filename'];

/**
 * Whether lines come with their places. A file that matches needs one, for it to be proven; of lines that a match spans,
 * ripgrep counts matches, while here they are rows in every mode.
 */
function isJson({ mode, multiline }: GrepQuestion['args']): boolean {
  return mode !== 'count' || multiline;
}

/** The counts in files that this process holds open. A named file is counted like one that was found, if it is text. */
async function countDescriptors(
  command: string,
  { args, signal }: GrepQuestion,
  descriptors: readonly string[],
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const rows = new CountRows((name, count) => {
    counts.set(name.toString(), count);
    return Promise.resolve(true);
  });
  await runRipgrep({
    ...{ command, signal, timeoutMs: args.timeoutMs },
    args: [...COUNT, ...patternArguments(args)],
    paths: descriptors.map((each) => `./${each}`),
    cwd: `/proc/${process.pid}/fd`,
    onOutput: (chunk) => rows.push(chunk),
  });
  return counts;
}

async function addCount(sink: GrepSink, accept: AcceptPath, name: Buffer, count: number): Promise<boolean> {
  const path = await accept(showName(name));
  return path === undefined || sink.add(orderKey(name), { path, count });
}

/** A glob that matches exactly this name. */
function escapeGlob(name: string): string {
  return name.replace(/[ !#*?[\]{}\\]/g, '\\$&');
}

/** Parses lines of the form `path NUL count newline`. */
class CountRows {
  readonly #onRow: (name: Buffer, count: number) => Promise<boolean>;
  #rest: Buffer = Buffer.alloc(0);

  /** @param onRow returns false to stop */
  constructor(onRow: (name: Buffer, count: number) => Promise<boolean>) {
    this.#onRow = onRow;
  }

  async push(chunk: Buffer): Promise<boolean> {
    const bytes = Buffer.concat([this.#rest, chunk]);
    let start = 0;
    for (;;) {
      const nul = bytes.indexOf(0, start);
      const end = nul < 0 ? nul : bytes.indexOf(0x0a, nul);
      if (end < 0) break;
      const name = bytes.subarray(start + 2, nul); // after "./"
      start = end + 1;
      if (!(await this.#onRow(name, Number(bytes.toString('latin1', nul + 1, end))))) return false;
    }
    this.#rest = Buffer.from(bytes.subarray(start));
    return true;
  }
}

/** The modes that return files, from rows: a file is complete when the next one begins. */
class CountedRows {
  readonly #sink: GrepSink;
  readonly #rows: GrepRows;
  readonly #counts: boolean;
  #file: { key: string; path: string; count: number; pieces: readonly Piece[] } | undefined;

  constructor(args: GrepQuestion['args'], { after }: GrepQuestion, accept: AcceptPath) {
    this.#sink = new GrepSink(args.limit, after);
    this.#counts = args.mode === 'count';
    const count = {
      add: (key: string, row: { path: string }, pieces: readonly Piece[] = []): boolean => {
        if (this.#file?.key === key) this.#file.count++;
        else {
          const goOn = this.#settle();
          this.#file = { key, path: row.path, count: 1, pieces };
          return goOn;
        }
        return true;
      },
      addContext: () => {},
    };
    this.#rows = new GrepRows(count, 0, accept);
  }

  push(chunk: Buffer): Promise<boolean> {
    return this.#rows.push(chunk);
  }

  finish(): GrepSink {
    if (!this.#sink.full) this.#settle();
    return this.#sink;
  }

  #settle(): boolean {
    if (!this.#file) return true;
    const { key, path, count, pieces } = this.#file;
    this.#file = undefined;
    return this.#sink.add(key, this.#counts ? { path, count } : { path }, pieces);
  }
}
