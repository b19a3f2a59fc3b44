// grep by ripgrep: its arguments, and what it takes to have rows in order although it searches in parallel.

import { showName } from '../directory-entries.js';
import { fileTypeMatcher } from './file-types.js';
import { GrepRows, type AcceptPath } from './grep-rows.js';
import { GrepSink } from './grep-sink.js';
import type { GrepQuestion, GrepOutcome } from './grep.js';
import { IgnoreRules } from './ignore-rules.js';
import { orderKey } from './path-order.js';
import { runRipgrep } from './ripgrep.js';

/** @throws {ToolError} INVALID_ARGUMENT for what ripgrep does not take; CANCELLED */
export async function grepByRipgrep(command: string, question: GrepQuestion): Promise<GrepOutcome> {
  const { scope, place, args, signal } = question;
  // ripgrep takes a glob as a wish that is stronger than ignore files and types, which is not what is meant.
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
    const rows =
      args.mode === 'content' || args.multiline ? new GrepRows(sink, question.linesAfter, accept) : undefined;
    const counted = args.mode !== 'content' && rows ? new CountedRows(args, question, accept) : undefined;
    const collector = counted ?? rows ?? new FileRows(sink, args.mode === 'count', accept);
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
  const shape = {
    content: json,
    files: ['--files-with-matches', '--null'],
    count: ['--count', '--null', '--with-filename'],
  };
  const one = place.file === undefined ? [] : ['--max-depth=1', `--glob=/${escapeGlob(place.file)}`];
  const globs = place.file === undefined ? (args.glob ?? []) : [];
  return [
    // Of lines that a match spans, ripgrep counts matches; here they are rows in every mode.
    ...(args.multiline ? json : shape[args.mode]),
    ...(args.multiline ? ['--multiline'] : []),
    ...one,
    ...globs.map((glob) => `--glob=${glob}`),
    ...(args.type === undefined || globs.length > 0 ? [] : [`--type=${args.type}`]),
    ...(args.literal ? ['--fixed-strings'] : []),
    { sensitive: '--case-sensitive', insensitive: '--ignore-case', smart: '--smart-case' }[args.case],
    ...(args.word ? ['--word-regexp'] : []),
    '--max-filesize=256M',
    '-e',
    args.pattern,
  ];
}

/** A name as a glob that matches nothing else. */
function escapeGlob(name: string): string {
  return name.replace(/[ !#*?[\]{}\\]/g, '\\$&');
}

/** Rows of the modes that give files: `path NUL`, or `path NUL count newline`. */
class FileRows {
  readonly #sink: GrepSink;
  readonly #counts: boolean;
  readonly #accept: AcceptPath;
  #rest: Buffer = Buffer.alloc(0);

  constructor(sink: GrepSink, counts: boolean, accept: AcceptPath) {
    this.#sink = sink;
    this.#counts = counts;
    this.#accept = accept;
  }

  async push(chunk: Buffer): Promise<boolean> {
    const bytes = Buffer.concat([this.#rest, chunk]);
    let start = 0;
    for (;;) {
      const nul = bytes.indexOf(0, start);
      const end = this.#counts && nul >= 0 ? bytes.indexOf(0x0a, nul) : nul;
      if (nul < 0 || end < 0) break;
      const name = bytes.subarray(start + 2, nul); // after "./"
      const path = await this.#accept(showName(name));
      const count = Number(bytes.toString('latin1', nul + 1, end));
      start = end + 1;
      if (path !== undefined && !this.#sink.add(orderKey(name), this.#counts ? { path, count } : { path }))
        return false;
    }
    this.#rest = Buffer.from(bytes.subarray(start));
    return true;
  }
}

/** The modes that give files, from rows: a file is done when the next one begins. */
class CountedRows {
  readonly #sink: GrepSink;
  readonly #rows: GrepRows;
  readonly #counts: boolean;
  #file: { key: string; path: string; count: number } | undefined;

  constructor(args: GrepQuestion['args'], { after }: GrepQuestion, accept: AcceptPath) {
    this.#sink = new GrepSink(args.limit, after);
    this.#counts = args.mode === 'count';
    const count = {
      add: (key: string, row: { path: string }): boolean => {
        if (this.#file?.key === key) this.#file.count++;
        else {
          const goOn = this.#settle();
          this.#file = { key, path: row.path, count: 1 };
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
    const { key, path, count } = this.#file;
    this.#file = undefined;
    return this.#sink.add(key, this.#counts ? { path, count } : { path });
  }
}
