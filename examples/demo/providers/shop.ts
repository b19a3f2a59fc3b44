// A provider that the demo edits while it is called: a price, and the number of things sold.

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
  initialize: (_current, previous) => ({ sold: 0, ...previous }), // the count survives a reload of this file
});

export default provider;
startProvider(provider);
