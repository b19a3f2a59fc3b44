// The result of a call as a model reads it: one text, and the images that a vendor takes beside it.

import type { ContentBlock, ToolResult } from '../contract/result.js';

/** An image in base64. */
export interface ImagePart {
  /** Such as `image/png`. */
  mimeType: string;
  /** The bytes, in base64. */
  data: string;
}

/** What a model reads. */
export interface ResultParts {
  /** Never empty. */
  readonly text: string;
  readonly images: readonly ImagePart[];
}

/** @param acceptsImage whether the vendor takes an image of this media type; a line in the text replaces any other */
export function partsOf(
  { content, structuredContent, isError }: ToolResult,
  acceptsImage: (mimeType: string) => boolean,
): ResultParts {
  const images: ImagePart[] = [];
  const image = (mimeType: string, data: string): string | undefined => {
    if (!acceptsImage(mimeType)) return omitted('image', mimeType, data);
    images.push({ mimeType, data });
    return undefined;
  };
  const textOfBlock = (block: ContentBlock): string | undefined => {
    switch (block.type) {
      case 'text':
        return block.text;
      case 'image':
        return image(block.mimeType, block.data);
      case 'audio':
        return omitted('audio', block.mimeType, block.data);
      case 'resource_link': {
        const { uri, title, name, mimeType, description } = block;
        return `[${title ?? name}: ${uri}${mimeType === undefined ? '' : ` (${mimeType})`}]${description === undefined ? '' : ` ${description}`}`;
      }
      case 'resource': {
        const { uri, mimeType = 'application/octet-stream', text, blob } = block.resource;
        if (text !== undefined) return `[${uri}]\n${text}`;
        if (blob !== undefined && mimeType.startsWith('image/')) return image(mimeType, blob);
        return `[${uri}] ${omitted('file', mimeType, blob ?? '')}`;
      }
    }
  };
  const lines = content.map(textOfBlock).filter((line): line is string => line !== undefined && line !== '');
  if (lines.length === 0 && images.length === 0 && structuredContent !== undefined)
    lines.push(JSON.stringify(structuredContent));
  if (lines.length === 0)
    lines.push(
      images.length > 0
        ? `(${images.length === 1 ? 'an image' : `${images.length} images`})`
        : isError
          ? '(failed without a message)'
          : '(no output)',
    );
  return { text: lines.join('\n'), images };
}

function omitted(kind: string, mimeType: string, base64: string): string {
  const bytes = Math.floor((base64.length * 3) / 4);
  return `[${kind} of type ${mimeType}, ${bytes} bytes, not shown: the model's interface does not accept it here]`;
}

/** The image types that all vendors accept. */
export function isCommonImage(mimeType: string): boolean {
  return ['image/png', 'image/jpeg', 'image/gif', 'image/webp'].includes(mimeType);
}
