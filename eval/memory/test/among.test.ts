import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import { amongOthers } from '../among.js';
import type { Dataset } from '../dataset.js';

const DATASET: Dataset = {
  name: 'small',
  granularity: 'a sentence',
  collections: [{ name: 'c', memories: [{ id: 'a', content: 'Asked for.' }], questions: [] }],
};
const SENTENCES = ['first', 'second', 'third', 'fourth'].map(
  (word) => `This is the ${word} paragraph that somebody has written.`,
);

describe('amongOthers', () => {
  it('adds paragraphs evenly from the Markdown files, and nothing that is not a sentence', async () => {
    await using project = await createTestProject({
      'README.md': `# A heading that is long enough to be a paragraph of its own\n\n${SENTENCES[0]}\n\n${SENTENCES[1]}\n`,
      'deep/NOTES.md': `| a table | that is long enough to be taken for a text. |\n\n${SENTENCES[2]}\n\n${SENTENCES[3]}\n`,
      'code.ts': `${SENTENCES[0]} But this is no Markdown.\n`,
    });
    const { name, collections } = await amongOthers(DATASET, project.projectDir, 2);
    expect(name).toBe('small among 2 others');
    expect(collections[0]?.memories).toEqual([
      { id: 'a', content: 'Asked for.' },
      { id: 'other-0', content: SENTENCES[0] },
      { id: 'other-1', content: SENTENCES[2] },
    ]);
    await expect(amongOthers(DATASET, project.projectDir, 5)).rejects.toThrow(
      /has only 4 of the requested 5 paragraphs/,
    );
  });
});
