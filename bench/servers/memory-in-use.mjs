// Prints the megabytes of a process after a few queries of a store.
// First argument: `memories`, `words` (without the model), `plain` or `nothing`; second:
// the project directory; then the queries.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [kind, projectDir, ...questions] = process.argv.slice(2);
if (kind === 'memories' || kind === 'words') {
  const { InProcessToolProvider } = await import('@toolwright/core');
  const { createMemoryServer } = await import('@toolwright/core/servers/memory');
  const provider = new InProcessToolProvider({
    servers: [createMemoryServer({ projectDir, embedder: kind === 'words' ? 'off' : 'static' })],
  });
  for (const query of questions) {
    const result = await provider.callTool('memory.retrieve', { query });
    if (result.isError) throw new Error(JSON.stringify(result.error));
  }
} else if (kind === 'plain') {
  for (const query of questions) {
    const words = query.split(' ');
    JSON.parse(readFileSync(join(projectDir, 'plain.json'), 'utf8'))
      .map((memory) => ({ memory, score: words.filter((word) => memory.content.includes(word)).length }))
      .sort((a, b) => b.score - a.score);
  }
}
process.stdout.write(String(process.memoryUsage.rss() / 1e6), () => process.exit());
