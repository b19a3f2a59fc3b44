// What a program that is being started has written so far. Whoever gives up waiting for it puts that into the error.

import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';

/** The end of a program's output: in words, and as details of an error. Secrets are left out. */
export interface StartOutput {
  /** A sentence, such as "Its stderr ends: …". */
  readonly words: string;
  readonly details?: JsonObject;
}

/** Set on a provider that starts a program: gives what that has written; undefined while none is being started. */
export const START_OUTPUT = Symbol.for('toolwright.startOutput');

/** The start of `provider` that is under way, as far as the provider can say. */
export function startOutputOf(provider: object): StartOutput | undefined {
  return (provider as { [START_OUTPUT]?: () => StartOutput | undefined })[START_OUTPUT]?.();
}

/** The error with the output of the program that is being started, where a time-out came before it was. */
export function withStartOutput(error: ToolError, provider: object): ToolError {
  if (error.code !== 'TIMED_OUT') return error;
  const output = startOutputOf(provider);
  if (!output || error.message.includes(output.words)) return error;
  const { code, message, details, retryable, tool, cause } = error;
  return new ToolError(code, `${message} The provider was still starting. ${output.words}`, {
    provider: error.provider ?? (provider as { name?: string }).name,
    tool,
    details: { ...details, ...output.details },
    retryable,
    cause,
  });
}
