// Maps words to their line numbers, with one string and two arrays: a Map of the model's 24,000 words would take ten times the
// memory.

/** Looks up a word's line number, from 0; undefined for an unknown word. */
export interface WordPlaces {
  get(word: string): number | undefined;
}

/** A table of distinct words, one per line. */
export class WordTable implements WordPlaces {
  readonly size: number;
  readonly #text: string;
  /** The position of each word in the text, and the end of the text. */
  readonly #starts: Uint32Array;
  /** An open-addressing hash table of line numbers plus one, where 0 is an empty slot. At least half empty. */
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

  /** The word's slot, or the empty slot for it. */
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
