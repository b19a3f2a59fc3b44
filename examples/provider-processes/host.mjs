// The host of calculator.mjs in plain JavaScript.

import { fileURLToPath } from 'node:url';
import { superviseProcess } from '@toolwright/runtime';

const path = fileURLToPath(new URL('calculator.mjs', import.meta.url));
const calculator = superviseProcess({ name: 'calculator', path, watch: true });
try {
  const sum = await calculator.callTool('calculator.add', { a: 1, b: 2 });
  console.log(sum.structuredContent); // { sum: 3 }
} finally {
  await calculator.disconnect();
}
