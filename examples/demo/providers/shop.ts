// A provider that the demo edits while it is called: prices, and how many things were sold.

import { createProvider, defineTool, startProvider } from '@toolwright/runtime/provider';

const DISCOUNT = 0;
const PRICE = 20;

interface Shop {
  sold: number;
}

const sell = defineTool({
  name: 'sell',
  description: 'Sell one thing.',
  input: { type: 'object', properties: {} },
  annotations: { destructiveHint: false, openWorldHint: false },
  execute: (_args, { state }: { state: Shop }) => ({ price: PRICE * (1 - DISCOUNT), sold: ++state.sold }),
});

const provider = createProvider<Shop>({
  name: 'shop',
  version: '1.0.0',
  description: 'Prices and sales.',
  tools: [sell],
  initialize: (_current, previous) => ({ sold: 0, ...previous }), // what was sold is kept when this file changes
});

export default provider;
startProvider(provider);
