// Chooses the sandbox of commands: the operator's, bubblewrap, or none.

import { createBubblewrap } from './bubblewrap.js';
import { ToolError } from '../../../contract/errors.js';
import type { Sandbox, SandboxRules, SandboxCommand } from './sandbox.js';

/** `require`: commands run in a sandbox or not at all; `auto`: without one where none works; `off`: without one. */
export type SandboxMode = 'auto' | 'require' | 'off';

/** The sandbox to use; undefined with the reason for none. */
export type SandboxChoice = { sandbox: Sandbox } | { sandbox: undefined; reason: string };

/** @throws {ToolError} UNAVAILABLE when one is required and does not work here */
export async function chooseSandbox(
  mode: SandboxMode,
  given: Sandbox | undefined,
  rules: SandboxRules,
  sample: SandboxCommand,
): Promise<SandboxChoice> {
  if (mode === 'off') return { sandbox: undefined, reason: 'the operator turned it off' };
  try {
    const sandbox = given ?? (await createBubblewrap(rules.scope));
    await sandbox.check?.(rules, sample);
    return { sandbox };
  } catch (error) {
    const { message } = ToolError.from(error);
    if (mode === 'auto') return { sandbox: undefined, reason: message };
    throw new ToolError(
      'UNAVAILABLE',
      `Commands run only in a sandbox (sandbox: 'require'), and none works here. ${message} To run them without one where none works, so that they can leave the project, set the bash option sandbox: 'auto'.`,
      { cause: error, retryable: false },
    );
  }
}
