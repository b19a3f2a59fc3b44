// Reads LongMemEval (https://github.com/xiaowu0162/LongMemEval, not in this repository): questions to an assistant, each with
// its own past sessions. A memory is one session, and a question with its sessions is a project.

import { z } from 'zod';
import type { Collection, Dataset, LabelledMemory } from './dataset.js';

/** The limit of a memory. A longer session becomes several memories, which count as one. */
const MAX_CONTENT_CHARS = 32_000;

const turn = z.object({ role: z.string(), content: z.string() });
const entry = z.object({
  question_id: z.coerce.string().optional(),
  question_type: z.string().default('question'),
  question: z.coerce.string(),
  haystack_session_ids: z.array(z.string()),
  haystack_sessions: z.array(z.array(turn)),
  answer_session_ids: z.array(z.string()),
});

/** Whether a parsed file has this format. */
export function isLongMemEval(file: unknown): boolean {
  return Array.isArray(file) && file.length > 0 && entry.safeParse(file[0]).success;
}

/** The sessions and their questions. Questions that no session answers (`…_abs`) are left out. */
export function parseLongMemEval(file: unknown): Dataset {
  const collections = z
    .array(entry)
    .parse(file)
    .flatMap((row, index): Collection[] => {
      const id = row.question_id ?? `question ${index + 1}`;
      const existing = new Set(row.haystack_session_ids);
      const relevant = [...new Set(row.answer_session_ids)].filter((session) => existing.has(session));
      if (relevant.length === 0 || id.endsWith('_abs')) return [];
      const memories = row.haystack_sessions.flatMap((turns, place): LabelledMemory[] => {
        const session = row.haystack_session_ids[place];
        if (session === undefined) throw new Error(`${id}: haystack_sessions has more than haystack_session_ids.`);
        return partsOf(turns.map(({ role, content }) => `${role}: ${content}`)).map((content) => ({
          id: session,
          content,
        }));
      });
      return [{ name: id, memories, questions: [{ id, kind: row.question_type, question: row.question, relevant }] }];
    });
  return { name: 'LongMemEval', granularity: 'sessions: all turns of one', collections };
}

/** Joins the lines into as few texts as possible. */
function partsOf(lines: readonly string[]): string[] {
  const parts: string[] = [];
  let part = '';
  for (const line of lines) {
    for (let start = 0; start < line.length; start += MAX_CONTENT_CHARS) {
      const piece = line.slice(start, start + MAX_CONTENT_CHARS);
      if (part.length + 1 + piece.length > MAX_CONTENT_CHARS) {
        if (part !== '') parts.push(part);
        part = piece;
      } else part = part === '' ? piece : `${part}\n${piece}`;
    }
  }
  return part.trim() === '' ? parts : [...parts, part];
}
