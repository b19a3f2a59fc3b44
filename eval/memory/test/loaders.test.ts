// The files of others: fixtures in their formats, with contents of our own.

import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { isLocomo, parseLocomo } from '../locomo.js';
import { isLongMemEval, parseLongMemEval } from '../longmemeval.js';

const fixture = async (name: string): Promise<unknown> =>
  JSON.parse(await readFile(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'));

const locomo = await fixture('locomo');
const longMemEval = await fixture('longmemeval');

it('isLocomo() and isLongMemEval() accept only their format', () => {
  for (const other of [[], {}, null, 'text', [{}], [{ qa: [] }]]) {
    expect([isLocomo(other), isLongMemEval(other)]).toEqual([false, false]);
  }
  expect([isLocomo(locomo), isLongMemEval(locomo)]).toEqual([true, false]);
  expect([isLocomo(longMemEval), isLongMemEval(longMemEval)]).toEqual([false, true]);
});

it('parseLocomo() returns a collection for each conversation, with a memory for each fact', () => {
  const { collections } = parseLocomo(locomo);
  expect(collections.map(({ name, memories }) => [name, memories.map(({ content }) => content)])).toEqual([
    [
      'garden',
      [
        'Ines keeps bees behind her shed.',
        'Ines sells honey at the market on Saturdays.',
        'Tom is allergic to wasps.',
        'Ines lost a swarm in May.',
      ],
    ],
    ['conversation 2', ['Ruth repairs clocks.']],
  ]);
});

it('parseLocomo() finds the facts of a question’s evidence in any notation', () => {
  const [garden] = parseLocomo(locomo).collections;
  const byId = new Map(garden!.memories.map(({ id, content }) => [id, content]));
  expect(
    garden!.questions.map(({ kind, question, relevant }) => [kind, question, relevant.map((id) => byId.get(id))]),
  ).toEqual([
    ['single-hop', 'What does Ines sell?', ['Ines sells honey at the market on Saturdays.']],
    [
      'multi-hop',
      'What happened to the bees of Ines?',
      ['Ines keeps bees behind her shed.', 'Ines lost a swarm in May.'],
    ],
    ['temporal', 'When was the swarm lost?', ['Ines lost a swarm in May.']],
    ['open-domain', 'Would Tom like to help with the hives?', ['Tom is allergic to wasps.']],
  ]);
});

it('parseLongMemEval() returns a collection for each answerable question, with a memory for each session', () => {
  const { collections } = parseLongMemEval(longMemEval);
  expect(collections.map(({ name, memories, questions }) => [name, memories.length, questions])).toEqual([
    [
      'kettle',
      2,
      [{ id: 'kettle', kind: 'single-session-user', question: 'Which kettle did I buy?', relevant: ['session-a'] }],
    ],
    [
      'bike',
      3,
      [
        {
          id: 'bike',
          kind: 'multi-session',
          question: 'What did I change on my bicycle?',
          relevant: ['session-d', 'session-f'],
        },
      ],
    ],
  ]);
  expect(collections[0]!.memories[0]).toEqual({
    id: 'session-a',
    content: 'user: I bought the blue kettle yesterday.\nassistant: Enjoy your tea.',
  });
});

it('parseLongMemEval() splits a session into memories with one ID when it is too long', () => {
  const [row] = longMemEval as [Record<string, unknown>];
  const session = [15_000, 20_000, 70_000].map((length) => ({ role: 'user', content: 'x'.repeat(length) }));
  const [long] = parseLongMemEval([{ ...row, haystack_sessions: [session, []] }]).collections;
  expect(long!.memories.map(({ id }) => id)).toEqual(Array(5).fill('session-a'));
  for (const { content } of long!.memories) expect(content.length).toBeLessThanOrEqual(32_000);
  const kept = long!.memories.reduce((sum, { content }) => sum + content.replaceAll(/[^x]/g, '').length, 0);
  expect(kept).toBe(105_000);
});
