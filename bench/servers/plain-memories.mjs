// Memories in one JSON file, as in earlier memory servers: the file is read for each query and rewritten for each memory.
// Runs in a separate process, so that its garbage does not slow the other side. First argument: the file. Each message is an
// operation and its argument; the reply is its duration in microseconds.

import { readFileSync, writeFileSync } from 'node:fs';

const path = process.argv[2];
const read = () => JSON.parse(readFileSync(path, 'utf8'));
const operations = {
  retrieve(query) {
    const words = query.split(' ');
    return read()
      .map((memory) => ({ memory, score: words.filter((word) => memory.content.includes(word)).length }))
      .sort((a, b) => b.score - a.score)
      .slice(0, 5)
      .map(({ memory }) => memory);
  },
  store(memory) {
    writeFileSync(path, JSON.stringify([...read(), memory], undefined, 2));
  },
  list() {
    return read()
      .sort((a, b) => b.timestamp.localeCompare(a.timestamp))
      .slice(0, 50);
  },
};

process.on('message', ([name, argument]) => {
  const started = performance.now();
  operations[name](argument);
  process.send((performance.now() - started) * 1_000);
});
