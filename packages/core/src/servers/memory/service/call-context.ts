// What a call brings to the memory service, however deep it goes.

export interface CallContext {
  signal: AbortSignal;
  /** Reports how many items are done, and what is being done. */
  progress: (done: number, message: string) => void;
}
