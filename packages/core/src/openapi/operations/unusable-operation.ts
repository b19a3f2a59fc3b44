// The reason why one operation of a document is left out.

/** Thrown for an operation that cannot be called. Its message completes "The operation was left out: …". */
export class UnusableOperation extends Error {}
