// The output so far of a program that is being started, for the error of a caller that stops waiting for it.

import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';

/** The end of a program's output, as a sentence and as details of an error. Secrets are redacted. */
export interface StartOutput {
  /** A sentence, such as "Its stderr ends: …". */
  readonly text: string;
  /** The same, as details of an error. */
  readonly details?: JsonObject;
}

/** The key of a provider's function that returns the output of a program that is being started; undefined if there is none. */
export const START_OUTPUT = Symbol.for('toolwright.startOutput');

/** The output of the program that `provider` is starting, if any. */
export function startOutputOf(provider: object): StartOutput | undefined {
  return (provider as { [START_OUTPUT]?: () => StartOutput | undefined })[START_OUTPUT]?.();
}

/** Adds that output to a TIMED_OUT error; returns any other error unchanged. */
export function withStartOutput(error: ToolError, provider: object): ToolError {
  if (error.code !== 'TIMED_OUT') return error;
  const output = startOutputOf(provider);
  if (!output || error.message.includes(output.text)) return error;
  const { code, message, details, retryable, tool, cause } = error;
  return new ToolError(code, `${message} The provider was still starting. ${output.text}`, {
    provider: error.provider ?? (provider as { name?: string }).name,
    tool,
    details: { ...details, ...output.details },
    retryable,
    cause,
  });
}
