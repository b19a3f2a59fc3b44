// Reads LoCoMo (https://github.com/snap-research/locomo, CC BY-NC 4.0, not in this repository): long conversations of two people.
// A memory is a fact observed in a session, and a conversation is a project.

import { z } from 'zod';
import type { Collection, Dataset } from './dataset.js';

/** The kinds of questions by number. The fifth kind, about things that were never said, is left out. */
const KINDS: Readonly<Record<number, string>> = {
  1: 'multi-hop',
  2: 'temporal',
  3: 'open-domain',
  4: 'single-hop',
};

const references = z.union([z.string(), z.array(z.string())]);
const conversation = z.object({
  sample_id: z.string().optional(),
  /** By session and speaker: facts, each with the turns that it was observed in. */
  observation: z.record(z.string(), z.record(z.string(), z.array(z.tuple([z.string(), references])))),
  qa: z.array(
    z.object({ question: z.coerce.string(), category: z.number(), evidence: z.array(z.string()).default([]) }),
  ),
});

/** Whether a parsed file has this format. */
export function isLocomo(file: unknown): boolean {
  return Array.isArray(file) && file.length > 0 && conversation.safeParse(file[0]).success;
}

/**
 * The facts and their questions. A fact answers a question when it is from a turn that the question names as evidence;
 * questions whose evidence no fact is from are left out.
 */
export function parseLocomo(file: unknown): Dataset {
  const collections = z
    .array(conversation)
    .parse(file)
    .map(({ sample_id, observation, qa }, index): Collection => {
      const name = sample_id ?? `conversation ${index + 1}`;
      const facts = Object.values(observation).flatMap((session) => Object.values(session).flat());
      const memories = facts.map(([content], number) => ({ id: `${name} fact ${number + 1}`, content }));
      const factsByTurn = new Map<string, string[]>();
      facts.forEach(([, from], number) => {
        for (const turn of turnsOf(from))
          factsByTurn.set(turn, [...(factsByTurn.get(turn) ?? []), memories[number]!.id]);
      });
      const questions = qa.flatMap(({ question, category, evidence }, number) => {
        const kind = KINDS[category];
        const relevant = [...new Set(turnsOf(evidence).flatMap((turn) => factsByTurn.get(turn) ?? []))];
        if (kind === undefined || relevant.length === 0) return [];
        return [{ id: `${name} question ${number + 1}`, kind, question, relevant }];
      });
      return { name, memories, questions };
    });
  return { name: 'LoCoMo', granularity: 'facts: one observed sentence', collections };
}

/** The references such as `D3:7` in a text or a list; some rows have several in one text, as in "D8:6; D9:17". */
function turnsOf(from: string | readonly string[]): string[] {
  return [from].flat().flatMap((text) => text.match(/D\d+:\d+/g) ?? []);
}
