// Memories with questions whose answers are known, whatever file they come from; and the labelled set of this directory.

import { readFile } from 'node:fs/promises';

/** A text that is stored. Two of one id are parts of one document: finding either is finding it. */
export interface LabelledMemory {
  id: string;
  content: string;
  category?: string;
  importance?: number;
}

export interface LabelledQuestion {
  id: string;
  /** What the figures are told apart by. */
  kind: string;
  question: string;
  /** The ids of all memories that answer it, at least one. */
  relevant: string[];
}

/** What is one project's: questions find nothing in another. */
export interface Collection {
  name: string;
  memories: LabelledMemory[];
  questions: LabelledQuestion[];
}

export interface Dataset {
  name: string;
  /** What one memory is. Figures of two granularities are not comparable. */
  granularity: string;
  collections: Collection[];
}

/** Weights are chosen by `tune`, figures are reported of `report`. */
export type Half = 'tune' | 'report';

/** The half of a question, by its number: the place in its dataset, from 1. Odd ones tune. */
export function halfOf(number: number): Half {
  return number % 2 === 1 ? 'tune' : 'report';
}

/** The set of `data/`. */
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
