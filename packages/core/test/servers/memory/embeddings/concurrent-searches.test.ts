import { describe, expect, it } from 'vitest';
import { EmbeddingIndex } from '../../../../src/servers/memory/embeddings/embedding-index.js';
import { quantize } from '../../../../src/servers/memory/embeddings/vector-index.js';
import { SqliteBackend } from '../../../../src/servers/memory/sqlite/sqlite-backend.js';
import { createTestProject } from '../../../../src/testing/project.js';

const DIM = 16;
const embedder = { id: 'test', dim: DIM, fusionWeight: 0.5, embed: () => Promise.resolve([]) };

/** A different unit vector for each number. */
function vectorOf(number: number): Float32Array {
  const vector = Float32Array.from(
    { length: DIM },
    (_, i) => (Math.sin((number + 1) * (i + 7) * 78.233) * 43_758.5) % 1,
  );
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}

describe('EmbeddingIndex', () => {
  it('nearest() returns the same concurrently as sequentially when searches need more vectors than are cached', async () => {
    await using project = await createTestProject();
    const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
    try {
      const drafts = Array.from({ length: 2_000 }, (_, index) => ({
        id: `m${index}`,
        content: `memory ${index}`,
        category: 'bug',
        tags: [],
        importance: 5,
      }));
      await backend.import(drafts);
      const vectors = drafts.map(({ id }, index) => {
        const floats = vectorOf(index);
        const { row, scale } = quantize(floats);
        return { id, rev: 1, codes: row, scale, floats };
      });
      await backend.setVectors('test', vectors);
      const queries = Array.from({ length: 60 }, (_, index) => vectorOf(10_000 + index));
      const open = async (): Promise<EmbeddingIndex> => {
        const meaning = new EmbeddingIndex(backend, embedder, 1_000);
        await meaning.refresh();
        return meaning;
      };
      const one = await open();
      const expected = [];
      for (const query of queries) expected.push(await one.nearest(query, {}, 10));
      for (const remembered of [0, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50]) {
        const other = await open();
        for (const query of queries.slice(0, remembered)) await other.nearest(query, {}, 10);
        const answers = await Promise.all(queries.map((query) => other.nearest(query, {}, 10)));
        expect(answers, `${remembered} before`).toEqual(expected);
      }
    } finally {
      await backend.close();
    }
  });
});
