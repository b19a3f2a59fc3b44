// retrieve: finds memories by words and by meaning.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import {
  callMemory,
  CATEGORY,
  claimScopes,
  MEMORY,
  memoriesData,
  memoryResult,
  memoryText,
  NOTICE,
  QUOTED,
  SCOPES,
  TAG_FILTER,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { MAX_QUERY_CHARS, MAX_RESULTS } from '../memory-limits.js';
import type { ScopedMemory } from '../service/scoped-store.js';
import { cut, safeText } from '../service/plain-text.js';
import type { FoundMemory } from '../service/retrieval.js';

/** Characters of a content in a compact result. */
const COMPACT_CHARS = 200;
/** The characters of a token of English or code on average, to respect `max_tokens`. */
const CHARS_PER_TOKEN = 4;
/** The tokens of a memory's facts, in addition to its content. */
const OVERHEAD_TOKENS = 40;

const PARTS = objectSchema(
  { words: { type: 'number' }, importance: { type: 'number' }, age: { type: 'number' } },
  { meaning: { type: 'number' } },
);

const RESULT = objectSchema({
  memory: MEMORY,
  similarity: { type: 'number', description: '0 to 1; comparable within one result.' },
  parts: PARTS,
  why: { type: 'string' },
});

/** The tool `retrieve`. */
export function retrieveTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('retrieve'),
    title: 'Find memories',
    description:
      'Find stored memories about a topic, best match first. Use it before you start work in an area, and when something seems to have been decided before.',
    input: objectSchema(
      {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_QUERY_CHARS,
          description: 'What to find, in plain words.',
        },
      },
      {
        scope: SCOPES,
        category: CATEGORY,
        tags: TAG_FILTER,
        limit: { type: 'integer', minimum: 1, maximum: MAX_RESULTS, default: 5 },
        min_score: { type: 'number', minimum: 0, description: 'The least similarity.' },
        detail: {
          type: 'string',
          enum: ['full', 'compact'],
          default: 'full',
          description: 'compact: only the beginning of each memory. Call get for those that matter.',
        },
        max_tokens: {
          type: 'integer',
          minimum: 50,
          maximum: 100_000,
          description: 'The approximate length limit of the result.',
        },
      },
    ),
    output: objectSchema(
      {
        results: { type: 'array', items: RESULT },
        mode: { type: 'string', enum: ['hybrid', 'hybrid-partial', 'lexical'] },
      },
      {
        left_out: { type: 'integer', description: 'Memories omitted because of max_tokens; absent if none were.' },
        notice: NOTICE,
      },
    ),
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ scope }) => claimScopes(context, 'retrieve', scope),
    async execute({ query, scope, category, tags, limit, min_score, detail, max_tokens }, ctx: MemoryToolContext) {
      const question = { query, scope, category, tags, limit, minScore: min_score };
      const { result, notice } = await callMemory(ctx, 'retrieve', question);
      const { found, mode, reason } = result;
      const shown = fitting(found, detail, max_tokens);
      const leftOut = found.length - shown.length;
      const results = memoriesData(shown.map(({ memory }) => memory)).map((data, index) => {
        const { isCut, similarity, parts, why } = shown[index]!;
        const memory = isCut ? { ...data, truncated: true } : data;
        return { memory, similarity, parts: { ...parts }, why };
      });
      const summary =
        results.length === 0
          ? 'No memory matches. Try other words, or omit category and tags.'
          : `${results.length === 1 ? '1 memory matches' : `${results.length} memories match`}. ${QUOTED}`;
      const blocks = shown.map(({ memory, similarity, why }) =>
        memoryText(memory, Infinity, [`similarity ${similarity}`, why]),
      );
      const rest = leftOut === 0 ? [] : [`[${leftOut} more omitted because of max_tokens.]`];
      return memoryResult(
        context,
        [summary, ...blocks, ...rest].join('\n\n'),
        { results, mode, ...(leftOut > 0 && { left_out: leftOut }) },
        reason === undefined ? undefined : `Mode ${mode}: ${reason}`,
        notice,
      );
    },
  });
}

interface ShownMemory extends Pick<FoundMemory, 'similarity' | 'parts'> {
  memory: ScopedMemory;
  isCut: boolean;
  why: string;
}

/** As many memories as fit in `maxTokens`, at least one, whose content is cut when necessary. */
function fitting(
  found: readonly FoundMemory[],
  detail: 'full' | 'compact',
  maxTokens: number | undefined,
): ShownMemory[] {
  const shown: ShownMemory[] = [];
  let left = maxTokens ?? Infinity;
  for (const { memory, scope, similarity, parts, matched } of found) {
    const room = Math.max(0, (left - OVERHEAD_TOKENS) * CHARS_PER_TOKEN);
    const wanted = detail === 'compact' ? Math.min(memory.content.length, COMPACT_CHARS) : memory.content.length;
    if (shown.length > 0 && wanted > room) break;
    const length = Math.min(wanted, Math.max(room, COMPACT_CHARS));
    const isCut = length < memory.content.length;
    const content = isCut ? `${cut(memory.content, length)}...` : memory.content;
    shown.push({ memory: { ...memory, content, scope }, isCut, similarity, parts, why: whyOf(parts, matched) });
    left -= OVERHEAD_TOKENS + content.length / CHARS_PER_TOKEN;
  }
  return shown;
}

function whyOf({ words, meaning }: FoundMemory['parts'], matched: readonly string[]): string {
  const reasons = [
    ...(words > 0 ? [matched.length > 0 ? `words ${matched.map(safeText).join(', ')}` : 'words'] : []),
    ...(meaning === undefined ? [] : [`meaning ${meaning}`]),
  ];
  return reasons.join('; ') || 'no word in common';
}
