// The kernel in the sources must be what tools/vector-kernel compiles to.

import { expect, it } from 'vitest';
import { compileKernel } from '../../../../../../tools/build-kernel.js';
import { DOT_PRODUCTS_WASM } from '../../../../src/servers/memory/embeddings/dot-products-wasm.js';
import { createRowMatrix, queryMax } from '../../../../src/servers/memory/embeddings/dot-products.js';

it('DOT_PRODUCTS_WASM is what the AssemblyScript source compiles to', async () => {
  expect(Buffer.from(await compileKernel()).toString('base64')).toBe(DOT_PRODUCTS_WASM);
}, 60_000);

it.each(['wasm', 'js'] as const)(
  'dotProducts() with %s stays within 32 bits when all numbers are the largest',
  (kernel) => {
    for (const dim of [2, 15, 16, 17, 384, 512, 513, 4096]) {
      const matrix = createRowMatrix(dim, kernel);
      matrix.reserve(2);
      matrix.row(0).fill(127);
      matrix.row(1).fill(-127);
      const dots = [...matrix.dotProducts(new Int16Array(dim).fill(queryMax(dim)), 0, 2)];
      expect(dots).toEqual([127 * queryMax(dim) * dim, -127 * queryMax(dim) * dim]);
      expect(dots[0]).toBeLessThan(2 ** 31);
    }
  },
);
