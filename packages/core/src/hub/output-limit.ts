// The last limit on results, so that none floods a model: long text is cut in the middle, with a note.

import type { ContentBlock, ToolResult } from '../contract/result.js';

/** Structured content and `_meta` cannot be cut: above this size they are dropped. */
const MAX_STRUCTURED_BYTES = 1024 * 1024;
const MAX_BINARY_BYTES = 8 * 1024 * 1024;
/** For all images, audio and files of one result together. */
const MAX_TOTAL_BINARY_BYTES = 4 * MAX_BINARY_BYTES;
const MAX_BLOCKS = 10_000;
/** A text is not cut to less than this: the note would be longer than the text. */
const SMALLEST_SHARE = 256;
/** The key of `_meta` that reports what was cut. */
const TRUNCATED_META_KEY = 'toolwright/truncated';

/** What was left out of a result, in bytes. */
interface Truncation {
  textBytes?: number;
  structuredBytes?: 'more than 1048576';
  binaryBlocks?: number;
  metaBytes?: 'more than 1048576';
}

/** Returns the result itself when it is within the limits, else a shortened copy. */
export function limitOutput(result: ToolResult, maxTextBytes: number): ToolResult {
  const truncation: Truncation = {};
  const content = limitContent(result.content, maxTextBytes, truncation);
  const { structuredContent } = result;
  const dropped = structuredContent !== undefined && sizeAtMost(structuredContent, MAX_STRUCTURED_BYTES) === undefined;
  const metaDropped = result._meta !== undefined && sizeAtMost(result._meta, MAX_STRUCTURED_BYTES) === undefined;
  const details = result.error?.details;
  const detailsDropped = details !== undefined && sizeAtMost(details, MAX_STRUCTURED_BYTES) === undefined;
  if (content === result.content && !dropped && !metaDropped && !detailsDropped) return result;
  const limited: ToolResult = { ...result, content };
  if (detailsDropped && limited.error) {
    const { details: _details, ...error } = limited.error;
    limited.error = error;
  }
  if (dropped) {
    delete limited.structuredContent;
    truncation.structuredBytes = 'more than 1048576';
    limited.content = [...content, note('[structuredContent was larger than 1 MiB and was left out; request less]')];
  }
  if (metaDropped) truncation.metaBytes = 'more than 1048576';
  limited._meta = { ...(!metaDropped && result._meta), [TRUNCATED_META_KEY]: { ...truncation } };
  return limited;
}

function limitContent(given: ContentBlock[], maxTextBytes: number, truncation: Truncation): ContentBlock[] {
  const blocks = given.length > MAX_BLOCKS ? given.slice(0, MAX_BLOCKS) : given;
  const cutText = textBytesOver(blocks, maxTextBytes);
  const tooBig = tooBigOf(blocks);
  if (!cutText && tooBig.size === 0 && blocks === given) return blocks;
  let left = maxTextBytes;
  let textsLeft = blocks.filter((block) => textIn(block) !== undefined).length;
  let dropped = 0;
  const limited = blocks.map((block, index): ContentBlock | undefined => {
    if (tooBig.has(index)) {
      truncation.binaryBlocks = (truncation.binaryBlocks ?? 0) + 1;
      return note(`[a block of type "${String(block.type).slice(0, 40)}" was too large and was left out]`);
    }
    const text = textIn(block);
    if (!cutText || text === undefined) return block;
    // The bytes that are left are shared equally by this block and those after it.
    const share = Math.max(0, Math.floor(left / textsLeft--));
    if (share < SMALLEST_SHARE) {
      // Too many blocks to cut each of them: as many as fit stay whole, the others are dropped.
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
  if (blocks !== given) kept.push(note(`[${given.length - blocks.length} more blocks were left out; request less]`));
  return dropped === 0 ? kept : [...kept, note(`[${dropped} more text blocks were left out; request less]`)];
}

/** The text of a text block or of an embedded resource. */
function textIn(block: ContentBlock): string | undefined {
  return block.type === 'text' ? block.text : block.type === 'resource' ? block.resource.text : undefined;
}

function textBytesOver(blocks: readonly ContentBlock[], maxTextBytes: number): boolean {
  // A UTF-16 unit is at most 3 bytes of UTF-8, so short texts need not be counted.
  let atMost = 0;
  for (const block of blocks) atMost += 3 * (textIn(block)?.length ?? 0);
  if (atMost <= maxTextBytes) return false;
  let bytes = 0;
  for (const block of blocks) bytes += Buffer.byteLength(textIn(block) ?? '');
  return bytes > maxTextBytes;
}

/** Keeps the two ends of a text, cut between code points, with a line that says how much is left out. */
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

/** The indices of blocks that are left out: too large, or beyond the total limit. Texts are cut instead. */
function tooBigOf(blocks: readonly ContentBlock[]): ReadonlySet<number> {
  const tooBig = new Set<number>();
  let binaryLeft = MAX_TOTAL_BINARY_BYTES;
  let restLeft = MAX_STRUCTURED_BYTES;
  for (const [index, block] of blocks.entries()) {
    const binary = binaryBytesOf(block);
    const rest = sizeOfRest(block, restLeft);
    if (rest === undefined || binary > MAX_BINARY_BYTES || binary > binaryLeft) {
      tooBig.add(index);
      continue;
    }
    binaryLeft -= binary;
    restLeft -= rest;
  }
  return tooBig;
}

function binaryBytesOf(block: ContentBlock): number {
  if (block.type === 'image' || block.type === 'audio') return block.data.length * 0.75;
  return block.type === 'resource' ? (block.resource.blob?.length ?? 0) * 0.75 : 0;
}

/**
 * The size of the parts that are neither text nor binary (names, URIs, annotations); undefined when it is above the
 * limit.
 */
function sizeOfRest(block: ContentBlock, limit: number): number | undefined {
  switch (block.type) {
    case 'text': {
      let isPlain = true;
      for (const key in block) isPlain &&= key === 'type' || key === 'text';
      return isPlain ? 0 : sizeAtMost({ ...block, text: '' }, limit);
    }
    case 'image':
    case 'audio':
      return sizeAtMost({ ...block, data: '' }, limit);
    case 'resource':
      return sizeAtMost({ ...block, resource: { ...block.resource, text: '', blob: '' } }, limit);
    default:
      return sizeAtMost(block, limit); // a link, or an unknown type
  }
}

/** The approximate size of a JSON value; undefined as soon as it exceeds `limit`. */
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
