// AssemblyScript, compiled by tools/build-kernel.ts: the dot products of one query with many rows of int8.

/**
 * Writes `count` dot products (i32) of a query (i16, `stride` numbers) with rows (i8, `stride` bytes each) that lie
 * one after the other. `stride` is a multiple of 16, every address too. The caller sees to it that no sum leaves 32 bits.
 */
export function dotProducts(query: usize, rows: usize, stride: usize, count: usize, dots: usize): void {
  let row = rows;
  const end = dots + (count << 2);
  for (let dot = dots; dot < end; dot += 4) {
    let low = i32x4.splat(0);
    let high = i32x4.splat(0); // two sums, so that an addition need not wait for the one before
    for (let i: usize = 0; i < stride; i += 16) {
      const bytes = v128.load(row + i);
      const numbers = query + (i << 1);
      low = i32x4.add(low, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(bytes), v128.load(numbers)));
      high = i32x4.add(high, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(bytes), v128.load(numbers, 16)));
    }
    const sum = i32x4.add(low, high);
    i32.store(
      dot,
      i32x4.extract_lane(sum, 0) + i32x4.extract_lane(sum, 1) + i32x4.extract_lane(sum, 2) + i32x4.extract_lane(sum, 3),
    );
    row += stride;
  }
}
