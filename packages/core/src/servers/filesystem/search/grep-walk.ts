// grep by the built-in walk: this thread walks and keeps the directories open, a worker reads the files and matches.

import { basename } from 'node:path';
import { fileTypeMatcher } from './file-types.js';
import type { GrepOutcome, GrepQuestion } from './grep-question.js';
import { GrepSink, type GrepRow } from './grep-sink.js';
import { IgnoreFile } from './ignore-file.js';
import { IgnoreRules } from './ignore-rules.js';
import { LEAD_CHARS, MAX_TEXT_CHARS, showPart } from './line-part.js';
import type { FoundRow, SearchedFile } from './line-search.js';
import { walkFiles, type HeldDirectory, type WalkedFile } from './ordered-walk.js';
import { orderKey } from './path-order.js';
import { translateRegex } from './rust-regex.js';
import { SearchWorker } from './search-worker.js';

const MAX_FILE_BYTES = 256 * 1024 * 1024;
/** Large enough to make messages cheap, small enough to stop soon at a limit. */
const BATCH_FILES = 128;

/** How many batches the walk may be ahead of the worker. */
const MAX_AHEAD = 3;

/** @throws {ToolError} INVALID_ARGUMENT for a pattern that cannot be translated; CANCELLED */
export async function grepByWalk(question: GrepQuestion): Promise<GrepOutcome> {
  const { args, signal } = question;
  const { ascii, unicode, flags, spansLines } = translateRegex(args.pattern, args);
  const found = new AbortController();
  const sink = new GrepSink(args.limit, question.after);
  const files = new Map<number, { path: string; key: string }>();
  const onRows = (rows: FoundRow[]): void => {
    for (const row of rows) {
      const file = files.get(row.index);
      if (file && !sink.full) sink.add(file.key, { ...rowOf(file.path, row) });
    }
    question.report(sink.count);
    if (sink.full) found.abort();
  };
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), args.timeoutMs);
  const stop = AbortSignal.any([signal, found.signal, timeout.signal]);
  try {
    await using worker = await SearchWorker.start(
      {
        ...{
          ascii,
          unicode,
          flags,
          spansLines,
          mode: args.mode,
          before: question.linesBefore,
          after: question.linesAfter,
        },
        ...{ maxRows: args.limit + 1, maxText: MAX_TEXT_CHARS, lead: LEAD_CHARS, maxFileBytes: MAX_FILE_BYTES },
        countsBinary: args.multiline,
        checkRealPath: question.scope.verification === 'inode',
      },
      onRows,
      stop,
    );
    await searchAll(question, worker, files, stop);
  } catch (error) {
    if (!stop.aborted || signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  signal.throwIfAborted();
  return { sink, timedOut: timeout.signal.aborted && !sink.full, isPrefix: true, changed: 0 };
}

/** Walks, and sends files to the worker in batches; resolves when all are searched, rejects on `stop`. */
async function searchAll(
  question: GrepQuestion,
  worker: SearchWorker,
  files: Map<number, { path: string; key: string }>,
  stop: AbortSignal,
): Promise<void> {
  const ahead: Promise<void>[] = [];
  const pending = new Set<Promise<void>>();
  let batch: SearchedFile[] = [];
  let batchHeld = new Set<HeldDirectory>();
  let index = 0;
  const stopped = whenAborted(stop);
  const release = async (directories: Set<HeldDirectory>): Promise<void> => {
    for (const directory of directories) await directory.release();
  };
  const send = async (): Promise<void> => {
    if (batch.length === 0) return;
    const [sent, directories] = [batch, batchHeld];
    batch = [];
    batchHeld = new Set();
    const done = worker.search(sent).finally(() => {
      for (const file of sent) files.delete(file.index);
      return release(directories);
    });
    done.catch(() => {}); // awaited below, or the thread was ended
    ahead.push(done);
    pending.add(done);
    void done.then(() => pending.delete(done)).catch(() => {});
    if (ahead.length >= MAX_AHEAD) await Promise.race([ahead.shift(), stopped.promise]);
  };
  try {
    for await (const { directory, found } of filesOf(question, stop)) {
      for (const { path, key, address } of found) {
        const shown = question.place.show(path);
        const order = question.after;
        const isSame = order?.key === key;
        if (shown === undefined || (isSame && question.args.mode !== 'content')) continue;
        files.set(index, { path: shown, key });
        batch.push({ index, address, afterLine: isSame ? (order?.number ?? 0) : 0 });
        index++;
        if (directory && !batchHeld.has(directory)) batchHeld.add(directory.retain());
        if (batch.length >= BATCH_FILES) await send();
      }
    }
    await send();
    await Promise.race([Promise.all(ahead), stopped.promise]);
  } finally {
    stopped.stop();
    // The worker ends first: it may still read through these descriptors, whose numbers may be reused.
    await worker.close();
    await release(batchHeld);
    await Promise.allSettled(pending);
  }
}

async function* filesOf(
  { scope, place, requested, args, after }: GrepQuestion,
  stop: AbortSignal,
): AsyncGenerator<{ directory: HeldDirectory | undefined; found: WalkedFile[] }> {
  if (place.file !== undefined) {
    const key = orderKey(place.file);
    yield {
      directory: undefined,
      found: [{ path: place.file, key, address: place.directory.entry(basename(place.file)) }],
    };
    return;
  }
  const globs = args.glob === undefined ? undefined : IgnoreFile.ofGlobs(args.glob);
  const isOfType = args.type === undefined ? undefined : fileTypeMatcher(args.type);
  const rules = await IgnoreRules.below(scope, place.directory.path);
  const runs = walkFiles(place.directory, {
    ...{ scope, requested, rules, after: after?.key, signal: stop },
    accept: (path, key, isDirectory) => {
      // As ripgrep's --glob: a plain one selects files, one with "!" excludes files or whole directories.
      const wanted = globs?.test(key, isDirectory);
      if (wanted === false || (wanted === undefined && globs?.hasPlain && !isDirectory)) return false;
      return isDirectory || !isOfType || isOfType(path);
    },
  });
  for await (const { held, files } of runs) yield { directory: held, found: files };
}

function rowOf(
  path: string,
  { count, line, column, text, context }: FoundRow,
): GrepRow | { path: string; count?: number } {
  if (line === undefined || text === undefined) return count === undefined ? { path } : { path, count };
  return {
    path,
    line,
    ...(column !== undefined && { column }),
    text: showPart(text),
    ...(context && { context: context.map((each) => ({ line: each.line, text: showPart(each.text) })) }),
  };
}

/** Rejects on abort; `stop` removes the listener. */
function whenAborted(signal: AbortSignal): { promise: Promise<never>; stop: () => void } {
  let stop = (): void => {};
  const promise = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    stop = () => signal.removeEventListener('abort', onAbort);
  });
  promise.catch(() => {}); // raced with what it stops
  return { promise, stop };
}
