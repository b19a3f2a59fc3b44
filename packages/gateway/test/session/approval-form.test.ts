// The policy's question as a client gets it: all that would run is shown, or "always" is not to be had.

import { ElicitRequestSchema, type ElicitRequest } from '@modelcontextprotocol/sdk/types.js';
import { defineServer, defineTool, InProcessToolProvider, ToolHub, type PolicyRule } from '@toolwright/core';
import { createGateway } from '@toolwright/gateway';
import { afterEach, describe, expect, it } from 'vitest';
import { connectClient } from '../fixtures/connect-client.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Runs one command through a client that gives this answer; the rules that were added, and what was shown. */
async function askFor(
  command: string,
  decision: string,
): Promise<{ ran: boolean; added: PolicyRule[]; message: string; choices: string[] }> {
  const run = defineTool({
    name: 'run',
    description: 'Runs it.',
    input: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
    permission: (args: { command?: string }) => [
      {
        pattern: String(args.command),
        match: 'tokens' as const,
        understood: true,
        ...(command.startsWith('wide') && { widerPattern: 'wide *' }),
      },
    ],
    execute: () => 'ran',
  });
  const added: PolicyRule[] = [];
  const hub = new ToolHub({
    providers: [new InProcessToolProvider({ servers: [defineServer({ name: 'sh', version: '1.0.0', tools: [run] })] })],
    policy: { default: 'ask', rules: [] },
    onRuleAdded: (rule) => added.push(rule),
  });
  const gateway = createGateway(hub);
  ends.push(
    () => hub.disconnect(),
    () => gateway.close(),
  );
  let received: ElicitRequest['params'] | undefined;
  const client = await connectClient(gateway, { elicitation: {} }, (made) =>
    made.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      received = params;
      return { action: 'accept', content: { decision } };
    }),
  );
  ends.push(() => client.close());
  const { isError } = await client.callTool({ name: 'sh__run', arguments: { command } });
  const { message, requestedSchema } = received as { message: string; requestedSchema: object };
  return {
    ran: isError === false,
    added,
    message,
    choices: (requestedSchema as { properties: { decision: { enum: string[] } } }).properties.decision.enum,
  };
}

describe('requestApproval()', () => {
  it('shows a command of 4,000 characters completely, and adds that command for "always"', async () => {
    const command = `echo ${'a'.repeat(4_000)}; rm -rf home`;
    const { ran, added, message, choices } = await askFor(command, 'always');
    expect(message.includes(`Claim: ${command}`)).toBe(true);
    expect(choices).toEqual(['once', 'always', 'deny']);
    expect([ran, added.length]).toEqual([true, 1]);
  });

  it('does not offer "always" when the command is shortened, and treats that answer as "once"', async () => {
    const command = `echo ${'a'.repeat(40_000)}; rm -rf home`;
    const { ran, added, message, choices } = await askFor(command, 'always');
    expect(message.length).toBeLessThan(40_000);
    expect(message.includes('is shortened here')).toBe(true);
    expect(message.includes('; rm -rf home')).toBe(true); // the end is shown too
    expect(choices).toEqual(['once', 'deny']);
    expect([ran, added]).toEqual([true, []]);
  });

  it('escapes invisible characters', async () => {
    const { message } = await askFor('echo a\u200b\u00ad\u3164\u00a0\u202e\u{e0041}b', 'deny');
    expect(message).toContain('echo a\\u{200b}\\u{ad}\\u{3164}\\u{a0}\\u{202e}\\u{e0041}b');
  });

  it('offers the wider rule and the exact one, and adds the chosen one', async () => {
    const { added, message, choices } = await askFor('wide a', 'wider');
    expect(choices).toEqual(['once', 'always', 'wider', 'deny']);
    expect(message).toContain('"wider" adds: [{"tool":"sh.run","pattern":"wide *"');
    expect(added).toEqual([{ tool: 'sh.run', pattern: 'wide *', action: 'allow' }]);
  });

  it('denies the call when the answer is not one of the choices', async () => {
    expect(await askFor('echo a', 'wider')).toMatchObject({ ran: false, added: [] });
    expect(await askFor('echo a', 'yes')).toMatchObject({ ran: false, added: [] });
  });
});
