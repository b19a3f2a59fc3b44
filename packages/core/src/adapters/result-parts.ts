// The result of a call as a model reads it: one text, and the images that a vendor takes beside it.

import type { ContentBlock, ToolResult } from '../contract/result.js';

/** An image in base64. */
export interface ImagePart {
  /** The type of the bytes, whatever the tool declared. */
  mimeType: ImageType;
  /** The bytes, in base64. */
  data: string;
}

/** The image types that all vendors accept. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

/** What a model reads. */
export interface ResultParts {
  /** Never blank: vendors refuse a request with a blank text. */
  readonly text: string;
  readonly images: readonly ImagePart[];
}

/** @param withImages whether the vendor takes images here; a line in the text replaces those that no vendor accepts */
export function partsOf({ content, structuredContent, isError }: ToolResult, withImages: boolean): ResultParts {
  const images: ImagePart[] = [];
  const image = (mimeType: string, data: string): string | undefined => {
    const type = imageType(data);
    if (!withImages || !type || data.length > MAX_IMAGE) return omitted('image', type ?? mimeType, data);
    images.push({ mimeType: type, data });
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
  const lines = content.map(textOfBlock).filter((line): line is string => line !== undefined && line.trim() !== '');
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

/** The longest image in base64: what Anthropic accepts, the least of all vendors. */
const MAX_IMAGE = 5 * 1024 * 1024;

/** How the base64 of each type begins. */
const IMAGE_STARTS: readonly (readonly [start: string, type: ImageType])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
];

/** The type of an image by its bytes: vendors refuse the whole request when it is declared wrongly, or is not base64. */
function imageType(base64: string): ImageType | undefined {
  const type = IMAGE_STARTS.find(([start]) => base64.startsWith(start))?.[1];
  return type && base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? type : undefined;
}
