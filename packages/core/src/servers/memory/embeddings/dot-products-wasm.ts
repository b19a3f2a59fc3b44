// Made by `npm run build:kernel` from tools/vector-kernel/dot-products.ts. Do not edit; a test compares the two.

/** A WebAssembly module, as base64, that imports `env.memory` and exports `dotProducts`. */
export const DOT_PRODUCTS_WASM =
  'AGFzbQEAAAABCQFgBX9/f39/AAIPAQNlbnYGbWVtb3J5AgAAAwIBAAcYAgtkb3RQcm9kdWN0cwAABm1lbW9yeQIACswBAckBAgN7An8gBCADQQJ0aiEIA0AgBCAISQRA/QwAAAAAAAAAAAAAAAAAAAAAIQX9DAAAAAAAAAAAAAAAAAAAAAAhBkEAIQMDQCACIANLBEAgBSABIANq/QAEACIH/YcBIAAgA0EBdGoiCf0ABAD9ugH9rgEhBSAGIAf9iAEgCf0ABBD9ugH9rgEhBiADQRBqIQMMAQsLIAQgBSAG/a4BIgX9GwAgBf0bAWogBf0bAmogBf0bA2o2AgAgASACaiEBIARBBGohBAwBCwsL';
