// Memories: stored, found and listed through the tools, against the plain JSON file that earlier memory servers keep,
// written here and measured in the same run. TOOLWRIGHT_BENCH_MEMORIES=100000 adds the largest store.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InProcessToolProvider } from '@toolwright/core';
import { createMemoryServer } from '@toolwright/core/servers/memory';
import { compare, reach, type Row } from '../method.js';

/** What is to be reached, in milliseconds: a question, a memory, a page. */
const REACH = { retrieve: { 1_000: 1, 10_000: 3, 100_000: 14 }, store: 0.3, list: 0.3 } as const;
const WORDS = 20_000;

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
  for (const size of sizes) rows.push(...(await rowsOf(size as keyof typeof REACH.retrieve)));
  return rows;
}

async function rowsOf(size: keyof typeof REACH.retrieve): Promise<Row[]> {
  const projectDir = mkdtempSync(join(tmpdir(), `toolwright-${process.pid}-bench-`));
  const provider = new InProcessToolProvider({ servers: [createMemoryServer({ projectDir })] });
  const text = textMaker();
  const memories = Array.from({ length: size }, (_, index) => memoryOf(`note ${index} ${text(40)}`));
  const call = async (tool: string, args: Record<string, unknown>): Promise<void> => {
    const result = await provider.callTool(`memory.${tool}`, args);
    if (result.isError) throw new Error(JSON.stringify(result.error));
  };
  try {
    writeFileSync(join(projectDir, 'memories.json'), JSON.stringify(memories));
    await call('import', { path: 'memories.json' });
    const plain = new PlainFile(join(projectDir, 'plain.json'), memories);
    // A plain file takes hundreds of milliseconds an operation: fewer rounds, and no batch.
    const options = { rounds: 15, batch: size > 1_000 ? 3 : 10, warmUp: 2 };
    const of = `of ${size.toLocaleString('en')}`;
    const retrieve = await compare(
      `memory.retrieve ${of}, by words`,
      { name: 'memory.retrieve', run: () => call('retrieve', { query: text(6) }) },
      { name: 'a JSON file, words counted', run: () => plain.retrieve(text(6)) },
      options,
    );
    const store = await compare(
      `memory.store ${of}`,
      { name: 'memory.store', run: () => call('store', { content: text(40), category: 'technical' }) },
      { name: 'a JSON file, written whole', run: () => plain.store(memoryOf(text(40))) },
      options,
    );
    const list = await compare(
      `memory.list ${of}`,
      { name: 'memory.list', run: () => call('list', {}) },
      { name: 'a JSON file, sorted', run: () => plain.list() },
      options,
    );
    return [
      reach(retrieve, retrieve.subjectUs / 1_000, '<=', REACH.retrieve[size], 'ms'),
      reach(store, store.subjectUs / 1_000, '<=', REACH.store, 'ms'),
      reach(list, list.subjectUs / 1_000, '<=', REACH.list, 'ms'),
    ];
  } finally {
    await provider.disconnect();
    await rm(projectDir, { recursive: true, force: true });
  }
}

/** Reads all of the file for each question, and writes all of it for each memory. */
class PlainFile {
  readonly #path: string;

  constructor(path: string, memories: readonly Memory[]) {
    this.#path = path;
    writeFileSync(path, JSON.stringify(memories, undefined, 2));
  }

  retrieve(query: string): Memory[] {
    const words = query.split(' ');
    return this.#read()
      .map((memory) => ({ memory, score: words.filter((word) => memory.content.includes(word)).length }))
      .sort((a, b) => b.score - a.score)
      .slice(0, 5)
      .map(({ memory }) => memory);
  }

  store(memory: Memory): void {
    writeFileSync(this.#path, JSON.stringify([...this.#read(), memory], undefined, 2));
  }

  list(): Memory[] {
    return this.#read()
      .sort((a, b) => b.timestamp.localeCompare(a.timestamp))
      .slice(0, 50);
  }

  #read(): Memory[] {
    return JSON.parse(readFileSync(this.#path, 'utf8')) as Memory[];
  }
}

function memoryOf(content: string): Memory {
  const timestamp = new Date().toISOString();
  return { id: randomUUID(), content, category: 'technical', tags: ['bench'], importance: 5, timestamp };
}

/** Texts whose words are as unevenly common as in a language, always the same ones. */
function textMaker(): (words: number) => string {
  let state = 42;
  const random = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  const word = (): string => `w${Math.floor(Math.exp(random() * Math.log(WORDS))).toString(36)}x`;
  return (words) => Array.from({ length: words }, word).join(' ');
}
