// Output whose fields end with NUL, as it comes in chunks: the only form in which no name of a file is ambiguous.

/** Gives each field, without its NUL, to a function. */
export class NulRecords {
  readonly #take: (record: Buffer) => boolean | void;
  #rest: Buffer = Buffer.alloc(0);

  /** @param take false when it is enough */
  constructor(take: (record: Buffer) => boolean | void) {
    this.#take = take;
  }

  /** False when it was enough. */
  push(chunk: Buffer): boolean {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    let start = 0;
    for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0, start)) {
      if (this.#take(bytes.subarray(start, end)) === false) return false;
      start = end + 1;
    }
    this.#rest = bytes.subarray(start);
    return true;
  }
}

/** The fields of output that is there as a whole. What has no NUL at its end was cut and is left out. */
export function nulFields(output: Buffer): Buffer[] {
  const fields: Buffer[] = [];
  new NulRecords((field) => void fields.push(field)).push(output);
  return fields;
}
