// The last resort against results that would flood a model: text is cut to head and tail, and says so.

import type { ContentBlock, ToolResult } from '../result.js';

/** Structured content, and `_meta`, have no head and tail: over this they are dropped whole. */
const MAX_STRUCTURED_BYTES = 1024 * 1024;
const MAX_BINARY_BYTES = 8 * 1024 * 1024;
/** A text cut to less than this says more about the cut than about itself. */
const SMALLEST_SHARE = 256;
/** The key under `_meta` that says what was cut. */
const TRUNCATED_META_KEY = 'toolwright/truncated';

/** What was left out of a result, in bytes. */
interface Truncation {
  textBytes?: number;
  structuredBytes?: 'more than 1048576';
  binaryBlocks?: number;
  metaBytes?: 'more than 1048576';
}

/** Gives the result itself when it is within the limits, else a copy that is. */
export function limitOutput(result: ToolResult, maxTextBytes: number): ToolResult {
  const truncation: Truncation = {};
  const content = limitContent(result.content, maxTextBytes, truncation);
  const { structuredContent } = result;
  const dropped = structuredContent !== undefined && sizeAtMost(structuredContent, MAX_STRUCTURED_BYTES) === undefined;
  const metaDropped = result._meta !== undefined && sizeAtMost(result._meta, MAX_STRUCTURED_BYTES) === undefined;
  if (content === result.content && !dropped && !metaDropped) return result;
  const limited: ToolResult = { ...result, content };
  if (dropped) {
    delete limited.structuredContent;
    truncation.structuredBytes = 'more than 1048576';
    limited.content = [...content, note('[structuredContent was over 1 MiB and was left out; ask for less]')];
  }
  if (metaDropped) truncation.metaBytes = 'more than 1048576';
  limited._meta = { ...(!metaDropped && result._meta), [TRUNCATED_META_KEY]: { ...truncation } };
  return limited;
}

function limitContent(blocks: ContentBlock[], maxTextBytes: number, truncation: Truncation): ContentBlock[] {
  const cutText = textBytesOver(blocks, maxTextBytes);
  if (!cutText && !blocks.some(isTooBig)) return blocks;
  let left = maxTextBytes;
  let textsLeft = blocks.filter((block) => wordsOf(block) !== undefined).length;
  let dropped = 0;
  const limited = blocks.map((block): ContentBlock | undefined => {
    if (isTooBig(block)) {
      truncation.binaryBlocks = (truncation.binaryBlocks ?? 0) + 1;
      return note(`[a block of type "${String(block.type).slice(0, 40)}" was too large and was left out]`);
    }
    const text = wordsOf(block);
    if (!cutText || text === undefined) return block;
    // The blocks before have taken what they need; this one shares what is left with those after it.
    const share = Math.max(0, Math.floor(left / textsLeft--));
    if (share < SMALLEST_SHARE) {
      // Too many blocks to cut each: the first ones stay whole, as far as they go.
      const bytes = Buffer.byteLength(text);
      if (bytes <= left) {
        left -= bytes;
        return block;
      }
      dropped++;
      truncation.textBytes = (truncation.textBytes ?? 0) + bytes;
      return undefined;
    }
    const cut = headAndTail(text, share);
    left -= Math.min(share, Buffer.byteLength(cut.text));
    if (cut.cutBytes === 0) return block;
    truncation.textBytes = (truncation.textBytes ?? 0) + cut.cutBytes;
    return block.type === 'resource'
      ? { ...block, resource: { ...block.resource, text: cut.text } }
      : { ...block, type: 'text', text: cut.text };
  });
  const kept = limited.filter((block) => block !== undefined);
  return dropped === 0 ? kept : [...kept, note(`[${dropped} more text blocks were left out; ask for less]`)];
}

/** The words of a block: a text, or the text of an embedded resource. */
function wordsOf(block: ContentBlock): string | undefined {
  return block.type === 'text' ? block.text : block.type === 'resource' ? block.resource.text : undefined;
}

function textBytesOver(blocks: readonly ContentBlock[], maxTextBytes: number): boolean {
  // A UTF-16 unit is at most 3 bytes of UTF-8, so that short texts need no count.
  let atMost = 0;
  for (const block of blocks) atMost += 3 * (wordsOf(block)?.length ?? 0);
  if (atMost <= maxTextBytes) return false;
  let bytes = 0;
  for (const block of blocks) bytes += Buffer.byteLength(wordsOf(block) ?? '');
  return bytes > maxTextBytes;
}

/** Keeps the two ends of a text, cut between code points, with a line that says what is missing. */
function headAndTail(text: string, maxBytes: number): { text: string; cutBytes: number } {
  if (text.length * 3 <= maxBytes) return { text, cutBytes: 0 };
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return { text, cutBytes: 0 };
  const half = Math.floor(maxBytes / 2);
  const head = bytes.subarray(0, characterStart(bytes, half));
  const tail = bytes.subarray(nextCharacterStart(bytes, bytes.length - half));
  const cutBytes = bytes.length - head.length - tail.length;
  return { text: `${head.toString()}\n[… ${cutBytes} bytes left out …]\n${tail.toString()}`, cutBytes };
}

/** https://www.rfc-editor.org/rfc/rfc3629#section-3: continuation bytes are 10xxxxxx. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}

function nextCharacterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return start;
}

function isTooBig(block: ContentBlock): boolean {
  if (block.type === 'text') return false;
  if (block.type === 'image' || block.type === 'audio') return block.data.length * 0.75 > MAX_BINARY_BYTES;
  if (block.type === 'resource') return (block.resource.blob?.length ?? 0) * 0.75 > MAX_BINARY_BYTES;
  return sizeAtMost(block, MAX_STRUCTURED_BYTES) === undefined; // a link, or a kind that is not known yet
}

/** The rough size of a JSON value, or undefined once it is over `limit`; stops looking there. */
function sizeAtMost(value: unknown, limit: number): number | undefined {
  let size = 0;
  const stack: unknown[] = [value];
  while (stack.length > 0) {
    const next = stack.pop();
    if (typeof next === 'string') size += next.length + 2;
    else if (typeof next === 'object' && next !== null) {
      size += 2;
      if (Array.isArray(next)) {
        if (next.length > limit) return undefined;
        for (const item of next) stack.push(item);
      } else {
        for (const key in next) {
          size += key.length + 4;
          stack.push((next as Record<string, unknown>)[key]);
        }
      }
    } else size += 8;
    if (size > limit) return undefined;
  }
  return size;
}

function note(text: string): ContentBlock {
  return { type: 'text', text };
}
