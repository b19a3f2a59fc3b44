// The example of @toolwright/core/internal in the API reference.

import assert from 'node:assert/strict';

import { settledWithin } from '@toolwright/core/internal';

const work = [fetch('data:,one'), fetch('data:,two')];
const isDone = await settledWithin(work, 1_000); // false after a second

assert.equal(isDone, true);
