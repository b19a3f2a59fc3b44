// Approvals by a person on a terminal, and automatic ones without a terminal.

import { createInterface } from 'node:readline/promises';
import type { Approval, ApprovalRequest } from '@toolwright/core';
import type { Screen } from './screen.js';

/** Asks for once, always or no. Any other answer means no. */
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

export function approveWithNotice(screen: Screen, request: ApprovalRequest): Approval {
  screen.approval(request);
  screen.note('  Approved once without asking, because of --yes or because there is no terminal.');
  return { decision: 'once' };
}
