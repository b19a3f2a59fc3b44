// The linear algebra of build.ts: rows of numbers, their principal directions, and projections on them.

/** Rows of `width` numbers each, one after the other. */
export interface Matrix {
  data: Float64Array;
  width: number;
}

export const heightOf = ({ data, width }: Matrix): number => data.length / width;
export const rowOf = ({ data, width }: Matrix, row: number): Float64Array =>
  data.subarray(row * width, (row + 1) * width);

export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** Adds `factor` times a row to another. */
export function addTo(target: Float64Array, row: Float64Array, factor: number): void {
  for (let i = 0; i < target.length; i++) target[i]! += row[i]! * factor;
}

/** Scales a row to length 1, unless it is zero. */
export function normalize(row: Float64Array): void {
  const length = Math.sqrt(dot(row, row));
  if (length > 0) for (let i = 0; i < row.length; i++) row[i]! /= length;
}

/** The weighted mean of the rows. */
export function weightedMean(rows: Matrix, weights: Float64Array): Float64Array {
  const mean = new Float64Array(rows.width);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  for (let i = 0; i < heightOf(rows); i++) addTo(mean, rowOf(rows, i), weights[i]! / total);
  return mean;
}

/** The sum of the rows' outer products, a symmetric matrix. */
export function covariance(rows: Matrix): Matrix {
  const { width } = rows;
  const data = new Float64Array(width * width);
  for (let r = 0; r < heightOf(rows); r++) {
    const row = rowOf(rows, r);
    for (let i = 0; i < width; i++) {
      const factor = row[i]!;
      for (let j = i; j < width; j++) data[i * width + j]! += factor * row[j]!;
    }
  }
  for (let i = 0; i < width; i++) for (let j = 0; j < i; j++) data[i * width + j] = data[j * width + i]!;
  return { data, width };
}

/**
 * The eigenvectors of a symmetric matrix, largest eigenvalue first, by cyclic Jacobi rotations (Golub and Van Loan, Matrix
 * Computations, 8.5).
 */
export function principalDirections(symmetric: Matrix, count: number): Matrix {
  const n = symmetric.width;
  const a = symmetric.data.slice();
  const vectors = new Float64Array(n * n); // a direction a row
  for (let i = 0; i < n; i++) vectors[i * n + i] = 1;
  const scale = a.reduce((sum, number) => sum + number * number, 0);
  for (let sweep = 0; sweep < 30; sweep++) {
    let off = 0;
    for (let p = 0; p < n - 1; p++) {
      for (let q = p + 1; q < n; q++) {
        const apq = a[p * n + q]!;
        off += 2 * apq * apq;
        if (apq * apq < scale * 1e-26) continue;
        const theta = (a[q * n + q]! - a[p * n + p]!) / (2 * apq);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        rotate(a, n, p, q, c, t * c);
        rotateRows(vectors, n, p, q, c, t * c);
      }
    }
    if (off < scale * 1e-18) break;
  }
  const order = Array.from({ length: n }, (_, i) => i).sort((x, y) => a[y * n + y]! - a[x * n + x]!);
  const data = new Float64Array(count * n);
  order.slice(0, count).forEach((from, to) => data.set(vectors.subarray(from * n, (from + 1) * n), to * n));
  return { data, width: n };
}

/** Rotates both sides of a symmetric matrix: its rows, then its columns. */
function rotate(a: Float64Array, n: number, p: number, q: number, c: number, s: number): void {
  rotateRows(a, n, p, q, c, s);
  for (let i = 0; i < n * n; i += n) {
    const [x, y] = [a[i + p]!, a[i + q]!];
    a[i + p] = c * x - s * y;
    a[i + q] = s * x + c * y;
  }
}

function rotateRows(a: Float64Array, n: number, p: number, q: number, c: number, s: number): void {
  const [pn, qn] = [p * n, q * n];
  for (let i = 0; i < n; i++) {
    const [x, y] = [a[pn + i]!, a[qn + i]!];
    a[pn + i] = c * x - s * y;
    a[qn + i] = s * x + c * y;
  }
}

/** The first principal direction of the weighted rows, by forty steps of power iteration. */
export function firstDirection(rows: Matrix, weights: Float64Array): Float64Array {
  let direction = Float64Array.from({ length: rows.width }, (_, i) => 1 + (i % 7));
  for (let step = 0; step < 40; step++) {
    normalize(direction);
    const next = new Float64Array(rows.width);
    for (let i = 0; i < heightOf(rows); i++) {
      const row = rowOf(rows, i);
      addTo(next, row, dot(row, direction) * weights[i]!);
    }
    direction = next;
  }
  normalize(direction);
  return direction;
}

/** Projects each row onto the directions. */
export function project(rows: Matrix, directions: Matrix): Matrix {
  const width = heightOf(directions);
  const data = new Float64Array(heightOf(rows) * width);
  for (let r = 0; r < heightOf(rows); r++) {
    for (let d = 0; d < width; d++) data[r * width + d] = dot(rowOf(rows, r), rowOf(directions, d));
  }
  return { data, width };
}
