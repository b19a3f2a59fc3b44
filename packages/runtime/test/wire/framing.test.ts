// What the beginning of a frame tells about it.

import { describe, expect, it } from 'vitest';
import { headOf } from '../../src/wire/framing.js';

describe('headOf()', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"id":9,"x":"', { id: 12, isRequest: true }],
    ['{"result":{"id":5,"deep":{"id":6}},"id":"a\\"b","x":"', { id: 'a"b', isRequest: false }],
    ['{"params":{"method":"no","id":1},"text":"\\"id\\":3', { id: undefined, isRequest: false }],
    ['{ "id" : 4 , "result" : [ [', { id: 4, isRequest: false }],
    ['{"id":123', { id: undefined, isRequest: false }], // it may go on
    ['{"id":null,"result":{', { id: undefined, isRequest: false }],
    ['', { id: undefined, isRequest: false }],
  ])('reads %s', (text, head) => {
    expect(headOf(text)).toEqual(head);
  });
});
