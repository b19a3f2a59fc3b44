// Words and their places, in one text and two arrays: a Map of the model's 24,000 takes ten times the memory of their
// letters, and is asked for fewer of them than it holds.

/** A word's place; undefined for one that is not there. */
export interface WordPlaces {
  get(word: string): number | undefined;
}

/** Words that are given one a line, each once. Their lines are their places. */
export class WordTable implements WordPlaces {
  readonly size: number;
  readonly #text: string;
  /** Where each word begins, and where another one would. */
  readonly #starts: Uint32Array;
  /** By hash, then one after the other: the places plus one, and 0 at the end. Half empty or more. */
  readonly #slots: Uint32Array;

  constructor(text: string) {
    let size = 1;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) size++;
    this.size = size;
    this.#text = text;
    this.#starts = new Uint32Array(size + 1);
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(size * 2)));
    let start = 0;
    for (let place = 0; place < size; place++) {
      const end = text.indexOf('\n', start);
      const next = (end < 0 ? text.length : end) + 1;
      this.#starts[place] = start;
      this.#starts[place + 1] = next;
      this.#slots[this.#slotOf(text.slice(start, next - 1))] = place + 1;
      start = next;
    }
  }

  get(word: string): number | undefined {
    const entry = this.#slots[this.#slotOf(word)]!;
    return entry === 0 ? undefined : entry - 1;
  }

  /** Its slot, or the empty one that it would have. */
  #slotOf(word: string): number {
    const last = this.#slots.length - 1;
    for (let slot = hashOf(word) & last; ; slot = (slot + 1) & last) {
      const entry = this.#slots[slot]!;
      if (entry === 0 || this.#isAt(entry - 1, word)) return slot;
    }
  }

  #isAt(place: number, word: string): boolean {
    const start = this.#starts[place]!;
    return this.#starts[place + 1]! - start - 1 === word.length && this.#text.startsWith(word, start);
  }
}

/** FNV-1a over UTF-16 units, its high bits mixed into the low ones: http://www.isthe.com/chongo/tech/comp/fnv/ */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
