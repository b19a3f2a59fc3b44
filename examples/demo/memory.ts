// Memories are found by what they mean: the question shares no word with the answer.

import { textOf, type ToolHub } from '@toolwright/core';
import type { Screen } from './screen.js';

const MEMORIES = [
  'The colours of the interface come from tokens.css.',
  'Releases are deployed by tagging main.',
  'Nobody calls the payment provider from a test.',
];
const QUESTION = 'how do we ship to production';

/** Gives what was not as it should be, in words. */
export async function showMemory(screen: Screen, hub: ToolHub): Promise<string[]> {
  screen.title('\nMemories');
  for (const content of MEMORIES) {
    const stored = await hub.callTool('memory.store', { content, category: 'ways_of_working' });
    if (stored.error) return [`memory.store: ${stored.error.message}`];
  }
  screen.note(`${MEMORIES.length} memories are stored. Asked: "${QUESTION}"`);
  const found = await hub.callTool('memory.retrieve', { query: QUESTION, limit: 1 });
  if (found.error) return [`memory.retrieve: ${found.error.message}`];
  const { results, mode } = found.structuredContent as { results: { memory: { content: string } }[]; mode: string };
  const answer = results[0]?.memory.content;
  screen.fact(answer === MEMORIES[1], `found "${answer ?? 'nothing'}" (${mode})`);
  return answer === MEMORIES[1] ? [] : [`memory.retrieve: ${textOf(found)}`];
}
