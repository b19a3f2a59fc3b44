// Asking a person, on a terminal; and what is done where there is none.

import { createInterface } from 'node:readline/promises';
import type { Approval, ApprovalRequest } from '@toolwright/core';
import type { Screen } from './screen.js';

/** Asks once, always or no. Anything else is no. */
export async function askOnTerminal(screen: Screen, request: ApprovalRequest, signal: AbortSignal): Promise<Approval> {
  screen.approval(request);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = (await terminal.question('  Allow it? [y] once, [a] always, [N] no: ', { signal }))
      .trim()
      .toLowerCase();
    return {
      decision: answer === 'y' || answer === 'yes' ? 'once' : answer === 'a' || answer === 'always' ? 'always' : 'deny',
    };
  } finally {
    terminal.close();
  }
}

export function approveAndSaySo(screen: Screen, request: ApprovalRequest): Approval {
  screen.approval(request);
  screen.note('  Nobody is asked here (--yes, or no terminal): it is approved once.');
  return { decision: 'once' };
}
