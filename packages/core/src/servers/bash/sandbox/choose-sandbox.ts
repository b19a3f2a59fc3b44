// Which sandbox commands run in: the host's own, bubblewrap, or none.

import { createBubblewrap } from './bubblewrap.js';
import { ToolError } from '../../../contract/errors.js';
import type { Sandbox, SandboxRules, SandboxCommand } from './sandbox.js';

/** `require`: in a sandbox or not at all; `auto`: without one where none works; `off`: without. */
export type SandboxMode = 'auto' | 'require' | 'off';

/** The sandbox to use; undefined with the reason to go without. */
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
      `Commands run in a sandbox only (sandbox: 'require'), and none works here. ${message} To run commands without one where none works, which lets them leave the project, set the bash option sandbox: 'auto'.`,
      { cause: error, retryable: false },
    );
  }
}
