// SHA-256 of a text, synchronous and without Node modules: adapters also run in browsers, where the platform's SHA-256 is
// asynchronous. FIPS 180-4, section 6.2. For names, not for secrets.

/** The first 32 bits of the fractional parts of the roots (square or cube) of the first primes: section 4.2.2 and 5.3.3. */
function fractions(count: number, root: (prime: number) => number): Uint32Array {
  const words = new Uint32Array(count);
  let found = 0;
  for (let candidate = 2; found < count; candidate++) {
    if (isPrime(candidate)) words[found++] = (root(candidate) % 1) * 2 ** 32;
  }
  return words;
}

function isPrime(candidate: number): boolean {
  for (let divisor = 2; divisor * divisor <= candidate; divisor++) if (candidate % divisor === 0) return false;
  return true;
}

const ROUNDS = fractions(64, Math.cbrt);
const START = fractions(8, Math.sqrt);

/** The 32 bytes of the digest of the text's UTF-8. */
export function sha256(text: string): Uint8Array {
  const message = new TextEncoder().encode(text);
  const padded = new Uint8Array((((message.length + 8) >> 6) + 1) << 6);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, message.length << 3);
  const state = START.slice();
  for (let block = 0; block < padded.length; block += 64) compress(state, view, block);
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((word, index) => out.setUint32(index * 4, word));
  return digest;
}

function compress(state: Uint32Array, view: DataView, block: number): void {
  const schedule = new Uint32Array(64);
  const at = (index: number): number => schedule[index] as number;
  for (let t = 0; t < 64; t++) {
    if (t < 16) schedule[t] = view.getUint32(block + t * 4);
    else {
      const [w15, w2] = [at(t - 15), at(t - 2)];
      const small0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3);
      const small1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10);
      schedule[t] = at(t - 16) + small0 + at(t - 7) + small1;
    }
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let t = 0; t < 64; t++) {
    const big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + big1 + ((e & f) ^ (~e & g)) + (ROUNDS[t] as number) + at(t)) | 0;
    const big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] = (state[index] as number) + word));
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
