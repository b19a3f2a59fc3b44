// Memories that nobody asks for, beside those that are: paragraphs of the Markdown files of a directory. A search has to
// find its few among many, and a store of many is searched in another way than one of few.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dataset, LabelledMemory } from './dataset.js';

/** A paragraph as long as what agents write down, in characters. */
const SHORTEST = 40;
const LONGEST = 400;

/**
 * Adds `count` paragraphs to each collection, taken evenly from all Markdown files under `directory`.
 *
 * @throws {Error} when there are fewer
 */
export async function amongOthers(dataset: Dataset, directory: string, count: number): Promise<Dataset> {
  const paragraphs = await paragraphsUnder(directory);
  if (paragraphs.length < count) {
    throw new Error(`Under ${directory} there are ${paragraphs.length} paragraphs, and ${count} are asked for.`);
  }
  const others = Array.from({ length: count }, (_, index): LabelledMemory => {
    const content = paragraphs[Math.floor((index * paragraphs.length) / count)]!;
    return { id: `other-${index}`, content };
  });
  return {
    ...dataset,
    name: `${dataset.name} among ${count} others`,
    collections: dataset.collections.map((collection) => ({
      ...collection,
      memories: [...collection.memories, ...others],
    })),
  };
}

async function paragraphsUnder(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && /\.md$/i.test(entry.name));
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort();
  const found = new Set<string>();
  for (const path of paths) {
    for (const paragraph of (await readFile(path, 'utf8')).split(/\n\s*\n/)) {
      const text = paragraph.replace(/\s+/g, ' ').trim();
      // Headings, lists, tables, code and pictures are no sentences.
      if (/^[A-Z][^|<]*[.:]$/.test(text) && text.length >= SHORTEST && text.length <= LONGEST) found.add(text);
    }
  }
  return [...found];
}
