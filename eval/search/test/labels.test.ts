// The labelled set keeps to what its README says of it.

import { expect, it } from 'vitest';
import { loadQueries, loadTools } from '../dataset.js';

const tools = new Map((await loadTools()).map((tool) => [tool.name, tool]));
const queries = await loadQueries('queries');
const tuning = await loadQueries('tuning');

it('tools.jsonl has 500 tools of different names, with short descriptions', () => {
  expect(tools.size).toBe(500);
  for (const { description } of tools.values()) expect(description.length).toBeLessThanOrEqual(200);
});

it('queries.jsonl has 100 queries and tuning.jsonl 110, each for another tool', () => {
  expect([queries.length, tuning.length]).toEqual([100, 110]);
  const wanted = [...queries, ...tuning].map(({ tool }) => tool);
  expect(new Set(wanted).size).toBe(210);
  expect(wanted.filter((name) => !tools.has(name))).toEqual([]);
});

it('no query has the name of its tool, if that is more than one word, or its description', () => {
  for (const { query, tool } of [...queries, ...tuning]) {
    const name = tool.slice(tool.indexOf('.') + 1);
    if (/[_-]/.test(name)) expect(query).not.toContain(name);
    expect(query).not.toContain(tools.get(tool)?.description);
  }
});
