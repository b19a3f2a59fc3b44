// Datasets of memories and questions with known answers, and the labelled set in data/.

import { readFile } from 'node:fs/promises';

/** A memory to store. Memories with the same ID are parts of one document: finding one of them counts as finding it. */
export interface LabelledMemory {
  id: string;
  content: string;
  category?: string;
  importance?: number;
}

export interface LabelledQuestion {
  id: string;
  /** The figures are grouped by this. */
  kind: string;
  question: string;
  /** The IDs of all memories that answer it, at least one. */
  relevant: string[];
}

/** The memories and questions of one project. */
export interface Collection {
  name: string;
  memories: LabelledMemory[];
  questions: LabelledQuestion[];
}

export interface Dataset {
  name: string;
  /** What one memory contains. Figures of different granularities are not comparable. */
  granularity: string;
  collections: Collection[];
}

/** Weights are chosen on the half `tune`, figures are reported for the half `report`. */
export type Half = 'tune' | 'report';

/** The half of a question by its number in the dataset, from 1. Odd numbers are for tuning. */
export function halfOf(number: number): Half {
  return number % 2 === 1 ? 'tune' : 'report';
}

/** Loads the labelled set in data/. */
export async function loadDeveloperMemories(): Promise<Dataset> {
  const [memories, questions] = await Promise.all([
    readLines<LabelledMemory>(new URL('data/memories.jsonl', import.meta.url)),
    readLines<LabelledQuestion>(new URL('data/questions.jsonl', import.meta.url)),
  ]);
  return {
    name: 'developer memories',
    granularity: 'one sentence or two, as an agent would write them down',
    collections: [{ name: 'harbor', memories, questions }],
  };
}

async function readLines<Row>(file: URL): Promise<Row[]> {
  const text = await readFile(file, 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}
