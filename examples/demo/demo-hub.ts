// The demo's hub: one provider, with a policy that allows reading and asks about everything else.

import { ToolHub, type Policy, type PolicyEvents, type ToolProvider } from '@toolwright/core';

export function createDemoHub(
  provider: ToolProvider,
  approve: NonNullable<Policy['approve']>,
  onDecision?: PolicyEvents['onDecision'],
): ToolHub {
  return new ToolHub({
    providers: [provider],
    policy: {
      default: 'ask',
      rules: [
        ...['read_file', 'list_directory', 'glob', 'grep'].map((tool) => `filesystem.${tool}`),
        ...['git.status', 'memory.store', 'memory.retrieve'],
      ].map((tool) => ({ tool, action: 'allow' })),
      approve,
    },
    ...(onDecision && { onDecision }),
  });
}
