// Splits chunks of NUL-terminated output, the only unambiguous form for file names.

/** Passes each field, without its NUL, to a function. */
export class NulRecords {
  readonly #take: (record: Buffer) => boolean | void;
  #rest: Buffer = Buffer.alloc(0);

  /** @param take receives a field; returns false to stop */
  constructor(take: (record: Buffer) => boolean | void) {
    this.#take = take;
  }

  /** Returns false once `take` has stopped it. */
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

/** The fields of complete output; leaves out a truncated last field. */
export function nulFields(output: Buffer): Buffer[] {
  const fields: Buffer[] = [];
  new NulRecords((field) => void fields.push(field)).push(output);
  return fields;
}
