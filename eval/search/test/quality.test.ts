// How many of the queries in data/ find their tool among the first five, of 500.

import { afterAll, expect, it } from 'vitest';
import { hubOf, loadQueries, loadTools } from '../dataset.js';

const hub = hubOf(await loadTools());
afterAll(() => hub.disconnect());

async function recallAt5(file: 'queries' | 'tuning'): Promise<number> {
  const queries = await loadQueries(file);
  let hits = 0;
  for (const { query, tool } of queries) {
    const found = await hub.search(query, { limit: 5 });
    if (found.some(({ name }) => name === tool)) hits++;
  }
  return hits / queries.length;
}

it('search() has the right tool among the first five for 90 of the 100 queries', async () => {
  expect(await recallAt5('queries')).toBeGreaterThanOrEqual(0.9);
});

it('search() does about as well on the queries that the ranking was tuned on', async () => {
  expect(await recallAt5('tuning')).toBeGreaterThanOrEqual(0.88);
});
