// Names that nothing else has: the wanted one, else with the first free number.

/** Gives out names, each once. Remembers the last number of each, as a document may want one name many thousand times. */
export class FreeNames {
  readonly #taken: { has(name: string): boolean };
  readonly #last = new Map<string, number>();

  /** @param taken the names that are in use; the caller adds those that it was given */
  constructor(taken: { has(name: string): boolean }) {
    this.#taken = taken;
  }

  /**
   * A free name.
   *
   * @param numbered makes a name with a number, from 2; the same for equal wanted names
   */
  free(wanted: string, numbered: (count: number) => string = (count) => `${wanted}_${count}`): string {
    if (!this.#taken.has(wanted)) return wanted;
    let count = (this.#last.get(wanted) ?? 1) + 1;
    while (this.#taken.has(numbered(count))) count++;
    this.#last.set(wanted, count);
    return numbered(count);
  }
}
