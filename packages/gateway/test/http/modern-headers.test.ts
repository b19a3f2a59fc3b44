// Which era a request belongs to is decided as the official SDK decides it.

import { classifyInboundRequest } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { isModernBody } from '../../src/http/modern-headers.js';

const VERSIONS = [undefined, '2025-11-25', '2026-07-28', '2027-03-01', '', 7, null] as const;
const CAPABILITIES = [undefined, {}, 'none'] as const;
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';

/** Every combination of header, method, version and capabilities in `_meta`, as requests and notifications. */
function* requests(): Iterable<{ header: string | undefined; body: unknown }> {
  for (const header of [undefined, '2025-06-18', '2026-07-28', ' 2026-07-28 ', '2027-03-01']) {
    for (const id of [undefined, 1, 'a']) {
      for (const method of ['initialize', 'tools/call', 'server/discover', 'notifications/cancelled']) {
        yield { header, body: { jsonrpc: '2.0', id, method } };
        yield { header, body: { jsonrpc: '2.0', id, method, params: { protocolVersion: '2025-11-25' } } };
        for (const version of VERSIONS) {
          for (const capabilities of CAPABILITIES) {
            const _meta = {
              ...(version !== undefined && { [VERSION_KEY]: version }),
              ...(capabilities !== undefined && { [CAPABILITIES_KEY]: capabilities }),
            };
            yield { header, body: { jsonrpc: '2.0', ...(id !== undefined && { id }), method, params: { _meta } } };
          }
        }
      }
    }
    yield { header, body: [] };
    yield {
      header,
      body: [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta: { [VERSION_KEY]: 'x' } } }],
    };
    // With a header of this revision the SDK takes a response for one of an earlier client; it is rejected here.
    if (header === undefined) yield { header, body: { jsonrpc: '2.0', id: 1, result: {} } };
  }
}

describe('isModernBody()', () => {
  it('sends no request to the legacy server that the SDK would not send there, and the other way round', () => {
    let count = 0;
    for (const { header, body } of requests()) {
      const sdk = classifyInboundRequest({
        httpMethod: 'POST',
        body: JSON.parse(JSON.stringify(body)) as unknown,
        ...(header !== undefined && { protocolVersionHeader: header }),
      });
      let isModern = true;
      try {
        isModern = isModernBody(
          header === undefined ? {} : { 'mcp-protocol-version': header },
          JSON.parse(JSON.stringify(body)),
        );
      } catch {
        // Rejected as modern.
      }
      // What the SDK rejects must at least not be handled as a request of the other era.
      if (sdk.kind !== 'reject')
        expect({ header, body, isModern }).toEqual({ header, body, isModern: sdk.kind === 'modern' });
      count++;
    }
    expect(count).toBeGreaterThan(1_000);
  });
});
