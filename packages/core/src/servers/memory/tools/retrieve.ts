// retrieve: finds memories by words and by meaning.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import {
  answer,
  ask,
  claimScopes,
  MEMORY,
  memoriesData,
  memoryText,
  NOTICE,
  QUOTED,
  SCOPES,
  TAGS,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { MAX_QUERY_CHARS, MAX_RESULTS } from '../memory-limits.js';
import type { ScopedMemory } from '../service/scoped-store.js';
import { cut, safeText } from '../service/plain-text.js';
import type { Found } from '../service/retrieval.js';

/** Of a content in a compact answer. */
const COMPACT_CHARS = 200;
/** What a token of English or code has, on average; used to keep to `max_tokens`. */
const CHARS_PER_TOKEN = 4;
/** What a memory costs beside its content. */
const OVERHEAD_TOKENS = 40;

const output = {
  type: 'object',
  properties: {
    results: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          memory: MEMORY,
          similarity: { type: 'number', description: '0 to 1; comparable within one answer.' },
          parts: {
            type: 'object',
            properties: {
              words: { type: 'number' },
              meaning: { type: 'number' },
              importance: { type: 'number' },
              age: { type: 'number' },
            },
            required: ['words', 'importance', 'age'],
            additionalProperties: false,
          },
          why: { type: 'string' },
        },
        required: ['memory', 'similarity', 'parts', 'why'],
        additionalProperties: false,
      },
    },
    mode: { type: 'string', enum: ['hybrid', 'hybrid-partial', 'lexical'] },
    left_out: { type: 'integer', description: 'Results for which max_tokens had no room; absent for none.' },
    notice: NOTICE,
  },
  required: ['results', 'mode'],
  additionalProperties: false,
} as const;

/** The tool `retrieve`. */
export function retrieveTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('retrieve'),
    title: 'Find memories',
    description:
      'Find what was remembered about something, the best first. Ask before you begin work in an area, and when something seems to have been decided before.',
    input: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_QUERY_CHARS,
          description: 'What to find, in plain words.',
        },
        scope: SCOPES,
        category: { type: 'string', minLength: 1, maxLength: 100 },
        tags: { ...TAGS, description: 'Only with any of these.' },
        limit: { type: 'integer', minimum: 1, maximum: MAX_RESULTS, default: 5 },
        min_score: { type: 'number', minimum: 0, description: 'Only those of at least this similarity.' },
        detail: {
          type: 'string',
          enum: ['full', 'compact'],
          default: 'full',
          description: 'compact: only the beginning of each; get the ones that matter.',
        },
        max_tokens: {
          type: 'integer',
          minimum: 50,
          maximum: 100_000,
          description: 'About how long the answer may be.',
        },
      },
      required: ['query'],
    },
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ scope }) => claimScopes(context, 'retrieve', scope),
    async execute({ query, scope, category, tags, limit, min_score, detail, max_tokens }, ctx: MemoryToolContext) {
      const question = { query, scope, category, tags, limit, minScore: min_score };
      const { result, notice } = await ask(ctx, 'retrieve', question);
      const { found, mode, reason } = result;
      const { shown, leftOut } = within(found, detail, max_tokens);
      const results = memoriesData(shown.map(({ memory }) => memory)).map((memory, index) => {
        const { similarity, parts, matched } = found[index] as Found;
        const isCut = shown[index]?.isCut === true || 'truncated' in memory;
        return {
          memory: { ...memory, ...(isCut && { truncated: true }) },
          similarity,
          parts: { ...parts },
          why: whyOf(parts, matched),
        };
      });
      const heading =
        results.length === 0
          ? 'No memory fits. Try other words, or leave category and tags out.'
          : `${results.length === 1 ? '1 memory fits' : `${results.length} memories fit`}. ${QUOTED}`;
      const blocks = shown.map(({ memory }, index) => {
        const { similarity, parts, matched } = found[index] as Found;
        return memoryText(memory, Infinity, [`similarity ${similarity}`, whyOf(parts, matched)]);
      });
      const rest = leftOut === 0 ? [] : [`[${leftOut} more had no room in max_tokens.]`];
      return answer(
        context,
        [heading, ...blocks, ...rest].join('\n\n'),
        { results, mode, ...(leftOut > 0 && { left_out: leftOut }) },
        reason === undefined ? undefined : `Mode ${mode}: ${reason}`,
        notice,
      );
    },
  });
}

interface Shown {
  memory: ScopedMemory;
  isCut: boolean;
}

/** As many as fit, at least one, which is cut where it must be. */
function within(found: readonly Found[], detail: 'full' | 'compact', maxTokens: number | undefined) {
  const shown: Shown[] = [];
  let left = maxTokens ?? Infinity;
  for (const { memory, scope } of found) {
    const room = Math.max(0, (left - OVERHEAD_TOKENS) * CHARS_PER_TOKEN);
    const wanted = detail === 'compact' ? Math.min(memory.content.length, COMPACT_CHARS) : memory.content.length;
    if (shown.length > 0 && wanted > room) break;
    const length = Math.min(wanted, Math.max(room, COMPACT_CHARS));
    const isCut = length < memory.content.length;
    const content = isCut ? `${cut(memory.content, length)}...` : memory.content;
    shown.push({ memory: { ...memory, content, scope }, isCut });
    left -= OVERHEAD_TOKENS + content.length / CHARS_PER_TOKEN;
  }
  return { shown, leftOut: found.length - shown.length };
}

function whyOf({ words, meaning }: Found['parts'], matched: readonly string[]): string {
  const reasons = [
    ...(words > 0 ? [matched.length > 0 ? `words ${matched.map(safeText).join(', ')}` : 'words'] : []),
    ...(meaning === undefined ? [] : [`meaning ${meaning}`]),
  ];
  return reasons.join('; ') || 'no word in common';
}
