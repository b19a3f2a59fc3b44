// Memories are found by meaning: the query and the answer share no word.

import { textOf } from '@toolwright/core';
import type { Tools } from './agent.js';
import type { Screen } from './screen.js';

const MEMORIES = [
  'The colours of the interface come from tokens.css.',
  'Releases are deployed by tagging main.',
  'Tests never call the payment provider.',
];
const QUESTION = 'how do we ship to production';

/** Returns a description of everything that went wrong. */
export async function showMemory(screen: Screen, hub: Tools): Promise<string[]> {
  screen.title('\nMemories');
  for (const content of MEMORIES) {
    const stored = await hub.callTool('memory.store', { content, category: 'ways_of_working' });
    if (stored.error) return [`memory.store: ${stored.error.message}`];
  }
  screen.note(`${MEMORIES.length} memories are stored. Query: "${QUESTION}"`);
  const found = await hub.callTool('memory.retrieve', { query: QUESTION, limit: 1 });
  if (found.error) return [`memory.retrieve: ${found.error.message}`];
  const { results, mode } = found.structuredContent as { results: { memory: { content: string } }[]; mode: string };
  const answer = results[0]?.memory.content;
  screen.fact(answer === MEMORIES[1], `found "${answer ?? 'nothing'}" (${mode})`);
  return answer === MEMORIES[1] ? [] : [`memory.retrieve: ${textOf(found)}`];
}
