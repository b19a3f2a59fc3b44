// Storing, retrieving and listing memories with the tools, against the JSON file of earlier memory servers in the same run.
// TOOLWRIGHT_BENCH_MEMORIES=100000 adds the largest store.

import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { InProcessToolProvider } from '@toolwright/core';
import { createMemoryServer } from '@toolwright/core/servers/memory';
import { compareSingly, quartiles, reach, type Row } from '../method.js';

const MODEL = fileURLToPath(new URL('../../packages/core/models/static-en.bin', import.meta.url));
const PLAIN = fileURLToPath(new URL('../servers/plain-memories.mjs', import.meta.url));
const IN_USE = fileURLToPath(new URL('../servers/memory-in-use.mjs', import.meta.url));

/** Targets: milliseconds of a query (median and 95th percentile), megabytes of a process that queries. */
const REACH = {
  1_000: { p50: 1, p95: 4, megabytes: 90 },
  10_000: { p50: 3, p95: 10, megabytes: 140 },
  100_000: { p50: 14, p95: 30, megabytes: 350 },
} as const;
const STORE_MS = 0.3;
const LIST_MS = 0.3;
const PROCESSES = 5;

interface Memory {
  id: string;
  content: string;
  category: string;
  tags: string[];
  importance: number;
  timestamp: string;
}

export async function memoryRows(): Promise<Row[]> {
  const sizes = [1_000, 10_000, ...(process.env['TOOLWRIGHT_BENCH_MEMORIES'] === '100000' ? [100_000] : [])] as const;
  const rows: Row[] = [];
  for (const size of sizes) for (const row of await rowsOf(size as keyof typeof REACH)) rows.push(row);
  return rows;
}

async function rowsOf(size: keyof typeof REACH): Promise<Row[]> {
  const projectDir = mkdtempSync(join(tmpdir(), `toolwright-${process.pid}-bench-`));
  const provider = new InProcessToolProvider({ servers: [createMemoryServer({ projectDir })] });
  const text = textMaker();
  const memories = Array.from({ length: size }, (_, index) => memoryOf(`note ${index} ${text(40)}`));
  const call = async (tool: string, args: Record<string, unknown>): Promise<unknown> => {
    const result = await provider.callTool(`memory.${tool}`, args);
    if (result.isError) throw new Error(JSON.stringify(result.error));
    return result.structuredContent;
  };
  try {
    writeFileSync(join(projectDir, 'memories.json'), JSON.stringify(memories));
    await call('import', { path: 'memories.json' });
    await untilEmbedded(() => call('retrieve', { query: text(6) }));
    using plain = new PlainFile(join(projectDir, 'plain.json'), memories);
    const of = `of ${size.toLocaleString('en')}`;
    const counts = countsOf(memories);
    const retrieving = (what: string, query: () => string): ReturnType<typeof compareSingly> =>
      compareSingly(
        `memory.retrieve ${of}, ${what}`,
        { name: 'memory.retrieve', run: () => call('retrieve', { query: query() }) },
        { name: 'a JSON file, words counted', time: () => plain.time('retrieve', query()) },
        { warmUp: 500 },
      );
    const retrieve = await retrieving('six words', () => text(6));
    const retrieveRarer = await retrieving('six words that are in less than a tenth', () => {
      const words: string[] = [];
      while (words.length < 6) {
        const word = text(1);
        const count = counts.get(word) ?? 0;
        if (count > 0 && count < size / 10) words.push(word);
      }
      return words.join(' ');
    });
    const list = await compareSingly(
      `memory.list ${of}`,
      { name: 'memory.list', run: () => call('list', {}) },
      { name: 'a JSON file, sorted', time: () => plain.time('list') },
      { warmUp: 500 },
    );
    await provider.disconnect(); // the next process is to have the store for itself, without a log that is not written back
    const { p50, p95, megabytes } = REACH[size];
    const [withoutModel, withModel] = memoryInUse(
      of,
      projectDir,
      Array.from({ length: 20 }, () => text(6)),
    );
    await provider.connect();
    const store = await compareSingly(
      `memory.store ${of}`,
      { name: 'memory.store', run: () => call('store', { content: text(40), category: 'technical' }) },
      { name: 'a JSON file, written whole', time: () => plain.time('store', memoryOf(text(40))) },
      { warmUp: 100 },
    );
    return [
      ...[retrieve, retrieveRarer].map((row) => ({
        ...row,
        reach: {
          bound: `<= ${p50} ms, p95 <= ${p95} ms`,
          reached: row.subjectUs <= p50 * 1_000 && row.p95Us <= p95 * 1_000,
        },
      })),
      reach(store, store.subjectUs / 1_000, '<=', STORE_MS, 'ms'),
      reach(list, list.subjectUs / 1_000, '<=', LIST_MS, 'ms'),
      reach(withoutModel, withoutModel.subjectUs, '<=', megabytes, 'MB'),
      reach(withModel, withModel.subjectUs, '<=', megabytes, 'MB'),
    ];
  } finally {
    await provider.disconnect();
    await rm(projectDir, { recursive: true, force: true });
  }
}

/** Waits until every memory has its vector, so that background work is not measured. */
async function untilEmbedded(ask: () => Promise<unknown>): Promise<void> {
  while (((await ask()) as { mode: string }).mode !== 'hybrid') await delay(100);
}

/** The memory of processes: queries by words, also with the model, with the JSON file, and Node alone. */
function memoryInUse(of: string, projectDir: string, questions: string[]): [withoutModel: Row, withModel: Row] {
  const measure = (kind: string): number =>
    Number(execFileSync(process.execPath, [IN_USE, kind, projectDir, ...questions], { encoding: 'utf8' }));
  const kinds = ['words', 'memories', 'plain', 'nothing'] as const;
  const rounds = Array.from({ length: PROCESSES }, () => kinds.map(measure) as [number, number, number, number]);
  const [words, memories, plain, nothing] = [0, 1, 2, 3].map((kind) => rounds.map((round) => round[kind]!)) as [
    number[],
    number[],
    number[],
    number[],
  ];
  const node = Math.round(quartiles(nothing).median);
  const row = (what: string, ours: number[]): Row => ({
    what: `memory in use, ${of.replace('of ', '')} memories${what} (Node alone: ${node} MB)`,
    subject: 'a process that retrieves',
    against: 'one with a JSON file',
    unit: 'MB',
    subjectUs: quartiles(ours).median,
    againstUs: quartiles(plain).median,
    ratio: quartiles(ours.map((mb, round) => mb / (plain[round] as number))),
    differenceUs: quartiles(ours.map((mb, round) => mb - (plain[round] as number))),
  });
  return [row(', by words', words), row(', with the built-in model', memories)];
}

/** The process that stores memories in a JSON file. */
class PlainFile implements Disposable {
  readonly #process: ChildProcess;

  constructor(path: string, memories: readonly Memory[]) {
    writeFileSync(path, JSON.stringify(memories, undefined, 2));
    this.#process = fork(PLAIN, [path]);
  }

  /** Returns the microseconds of an operation in that process. */
  async time(operation: 'retrieve' | 'store' | 'list', argument?: string | Memory): Promise<number> {
    this.#process.send([operation, argument]);
    const [microseconds] = (await once(this.#process, 'message')) as [number];
    return microseconds;
  }

  [Symbol.dispose](): void {
    this.#process.kill();
  }
}

/** The number of memories that contain each word. */
function countsOf(memories: readonly Memory[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { content } of memories)
    for (const word of new Set(content.split(' '))) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function memoryOf(content: string): Memory {
  const timestamp = new Date().toISOString();
  return { id: randomUUID(), content, category: 'technical', tags: ['bench'], importance: 5, timestamp };
}

/** Texts of words that the built-in model knows, with the frequencies of a language; always the same texts. */
function textMaker(): (words: number) => string {
  let state = 42;
  const random = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  const known = modelWords();
  for (let i = known.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [known[i], known[other]] = [known[other] as string, known[i] as string];
  }
  // A word's probability is inverse to its rank (Zipf's law).
  const word = (): string => known[Math.floor(Math.exp(random() * Math.log(known.length)))] as string;
  return (words) => Array.from({ length: words }, word).join(' ');
}

/** Reads the words from the model's file: four letters, two lengths, a header, and one word per line. */
function modelWords(): string[] {
  const bytes = readFileSync(MODEL);
  const start = 12 + bytes.readUInt32LE(4);
  return bytes.toString('utf8', start, start + bytes.readUInt32LE(8)).split('\n');
}
