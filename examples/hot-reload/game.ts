// A provider with state and settings. It is reloaded when this file or scores.ts changes, and the game continues.

import { createProvider, defineTool, startProvider } from '@toolwright/runtime/provider';
import { pointsOf } from './scores.js';

interface Game {
  players: Record<string, number>;
  bonus: number;
}

const provider = createProvider<Game>({
  name: 'game',
  version: '1.0.0',
  description: 'Keeps the score of a word game.',
  tools: [
    defineTool({
      name: 'play',
      description: 'Give a player the points of a word.',
      input: {
        type: 'object',
        properties: { player: { type: 'string' }, word: { type: 'string' } },
        required: ['player', 'word'],
      },
      execute: ({ player, word }, { state }) => {
        const points = (state.players[player] ?? 0) + pointsOf(word) + state.bonus;
        state.players[player] = points;
        return { player, points };
      },
    }),
  ],
  // `previous` is the previous state, after a reload or a change of the config; null at the first start.
  initialize: ({ config }, previous) => ({
    players: (previous?.players ?? {}) as Record<string, number>,
    bonus: Number(config.bonus ?? 0),
  }),
  shouldRestart: (old, next) => old.config.language !== next.config.language,
});

export default provider;
startProvider(provider);
