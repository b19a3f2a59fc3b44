// Adds irrelevant memories to a dataset: paragraphs of the Markdown files in a directory. A search then has to find few among
// many, and a large store is searched in another way than a small one.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dataset, LabelledMemory } from './dataset.js';

/** The length of a paragraph in characters, like that of agents' memories. */
const MIN_CHARS = 40;
const MAX_CHARS = 400;

/**
 * Adds `count` paragraphs to each collection, distributed evenly over all Markdown files under `directory`.
 *
 * @throws {Error} when there are fewer paragraphs
 */
export async function amongOthers(dataset: Dataset, directory: string, count: number): Promise<Dataset> {
  const paragraphs = await paragraphsUnder(directory);
  if (paragraphs.length < count) {
    throw new Error(`${directory} has only ${paragraphs.length} of the requested ${count} paragraphs.`);
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
      // Excludes headings, lists, tables, code and pictures.
      if (/^[A-Z][^|<]*[.:]$/.test(text) && text.length >= MIN_CHARS && text.length <= MAX_CHARS) found.add(text);
    }
  }
  return [...found];
}
