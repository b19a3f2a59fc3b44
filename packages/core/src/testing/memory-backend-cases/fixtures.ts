// Drafts, assertions and texts that the contract cases for memory backends share.

import assert from 'node:assert/strict';
import { ToolError, type ToolErrorCode } from '../../contract/errors.js';
import type { MemoryBackend, MemoryDraft, MemoryRecord } from '../../servers/memory/memory-backend.js';

export const draft = (content: string, more: Partial<MemoryDraft> = {}): MemoryDraft => ({
  content,
  category: 'technical',
  tags: [],
  importance: 5,
  ...more,
});

export async function stored(
  backend: MemoryBackend,
  content: string,
  more: Partial<MemoryDraft> = {},
): Promise<MemoryRecord> {
  return (await backend.put(draft(content, more), 'allow')).memory;
}

export async function rejects(promise: Promise<unknown>, code: ToolErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(ToolError.isInstance(error), String(error));
    assert.equal(error.code, code, error.message);
    return true;
  });
}

export const idsOf = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id);
export const contentsOf = (records: readonly MemoryRecord[]): string[] => records.map(({ content }) => content);

/** Characters that a store might corrupt. NUL is missing, as the server replaces it. */
export const AWKWARD =
  'quote \' " `, back \\, percent %_, line\n\r\t\u2028, accent é e\u0301, emoji 👩‍💻, hebrew שלום, 漢字';
export const unitVector = (place: number): Float32Array =>
  Float32Array.from({ length: 4 }, (_, index) => (index === place ? 1 : 0));
