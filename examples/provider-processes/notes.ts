// A provider with state: initialize creates it, tools change it, dispose ends it.

import { createProvider, defineTool, startProvider, type ToolContext } from '@toolwright/runtime/provider';
import { z } from 'zod';

// #region state
interface Notes {
  texts: string[];
  limit: number;
}

const add = defineTool({
  name: 'add',
  description: 'Store a note.',
  input: z.object({ text: z.string().min(1) }),
  output: z.object({ count: z.number() }),
  execute: ({ text }, { state, logger }: ToolContext<Notes>) => {
    if (state.texts.length >= state.limit)
      throw new Error(`The limit of ${state.limit} notes is reached; remove one first.`);
    logger.info('stored a note', { length: text.length });
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
      signal.throwIfAborted(); // throws when the call was cancelled or timed out, or the host disconnected
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
  // The returned object becomes ctx.state. `previous` is the previous state as JSON.
  initialize: ({ config }, previous) => ({
    texts: (previous?.texts as string[] | undefined) ?? [],
    limit: Number(config.limit ?? 100),
  }),
  shouldRestart: () => false,
  shouldReinitialize: (old, next) => old.config.limit !== next.config.limit,
  dispose: ({ state }) => void process.stderr.write(`${state.texts.length} notes discarded\n`),
});
// #endregion

export default provider;
startProvider(provider);
