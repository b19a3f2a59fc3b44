// A provider with state: made by initialize, changed by tools, ended by dispose.

import { createProvider, defineTool, startProvider, type ToolContext } from '@toolwright/runtime/provider';
import { z } from 'zod';

// #region state
interface Notes {
  texts: string[];
  limit: number;
}

const add = defineTool({
  name: 'add',
  description: 'Keep a note.',
  input: z.object({ text: z.string().min(1) }),
  output: z.object({ count: z.number() }),
  execute: ({ text }, { state, logger }: ToolContext<Notes>) => {
    if (state.texts.length >= state.limit) throw new Error(`There are ${state.limit} notes already; remove one first.`);
    logger.info('a note was kept', { length: text.length });
    return { count: state.texts.push(text) };
  },
});

const review = defineTool({
  name: 'review',
  description: 'Read all notes, slowly.',
  output: z.object({ read: z.number() }),
  annotations: { readOnlyHint: true },
  execute: async (_args, { state, signal, progress }: ToolContext<Notes>) => {
    for (const [index, text] of state.texts.entries()) {
      signal.throwIfAborted(); // the call was cancelled, timed out, or the host has gone
      progress({ progress: index + 1, total: state.texts.length, message: text });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return { read: state.texts.length };
  },
});

const provider = createProvider<Notes>({
  name: 'notes',
  version: '1.0.0',
  description: 'Notes for the length of a conversation.',
  tools: [add, review],
  // What this returns is ctx.state. `previous` is the state that was there before, as far as JSON carries it.
  initialize: ({ config }, previous) => ({
    texts: (previous?.texts as string[] | undefined) ?? [],
    limit: Number(config.limit ?? 100),
  }),
  shouldRestart: () => false,
  shouldReinitialize: (old, next) => old.config.limit !== next.config.limit,
  dispose: ({ state }) => void process.stderr.write(`${state.texts.length} notes are gone\n`),
});
// #endregion

export default provider;
startProvider(provider);
