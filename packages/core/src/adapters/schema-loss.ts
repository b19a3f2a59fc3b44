// What a vendor's form of a schema does not say.

/** Something that the form for a vendor does not say. */
export interface SchemaLoss {
  /** The qualified name of the tool. */
  readonly tool: string;
  /** Where in the schema, as a JSON Pointer; empty for the root. */
  readonly path: string;
  /** What the vendor does not see, in one sentence. */
  readonly message: string;
}

/** Receives the losses of one schema. */
export type ReportLoss = (path: string, message: string) => void;
