// read_media: returns an image or audio file, for models that accept those.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { fileFailure } from '../../project/open/file-failure.js';
import { quote } from '../../project/scope/project-scope.js';
import { readAt } from '../../project/open/file-content.js';
import { claimPath, type FilesystemContext } from '../filesystem-context.js';
import { mediaTypeOf, otherTypeOf } from '../read/media-type.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const DEFAULT_MAX_BYTES = 5 * 1024 * 1024;
const HIGHEST_MAX_BYTES = 20 * 1024 * 1024;

const input = objectSchema(
  {
    path: { type: 'string', description: 'The file, relative to the project.' },
  },
  {
    max_bytes: {
      type: 'integer',
      minimum: 1,
      maximum: HIGHEST_MAX_BYTES,
      default: DEFAULT_MAX_BYTES,
      description: 'Refuse a file larger than this.',
    },
  },
);

const output = objectSchema(
  {
    path: { type: 'string' },
    mime_type: { type: 'string' },
    size: { type: 'integer', description: 'In bytes.' },
  },
  {
    width: { type: 'integer', description: 'Of an image, in pixels.' },
    height: { type: 'integer' },
  },
);

/** The tool `read_media`. */
export function readMediaTool({ files }: FilesystemContext): Tool {
  return defineTool({
    name: 'read_media',
    title: 'Read image or audio',
    description:
      'Show an image (PNG, JPEG, GIF, WebP, BMP) or play audio (WAV, MP3, Ogg, FLAC). For text use read_file.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(files, path, 'read'),
    async execute({ path, max_bytes }, ctx) {
      const requested = files.scope.parse(path);
      const { handle, stats } = await files.openFile(requested);
      try {
        const size = Number(stats.size);
        const start = await readAt(handle, Buffer.alloc(1024), 0);
        if (!mediaTypeOf(start))
          throw new ToolError('INVALID_ARGUMENT', `${quote(requested.shown)} is ${otherTypeOf(start)}.`);
        if (size > max_bytes) throw tooLarge(requested.shown, size, max_bytes);
        ctx.signal.throwIfAborted();
        // One byte more than the size, to detect that the file has grown.
        const bytes = await readAt(handle, Buffer.alloc(size + 1), 0);
        if (bytes.length > size) throw changed(requested.shown);
        ctx.signal.throwIfAborted();
        const media = mediaTypeOf(bytes);
        if (!media) throw changed(requested.shown);
        const { kind, mimeType, ...dimensions } = media;
        return {
          content: [{ type: kind, data: bytes.toString('base64'), mimeType }],
          structuredContent: { path: requested.shown, mime_type: mimeType, size: bytes.length, ...dimensions },
        };
      } catch (error) {
        throw fileFailure(error, 'read', requested.shown);
      } finally {
        await handle.close();
      }
    },
  });
}

function changed(shown: string): ToolError {
  return new ToolError('FILE_CHANGED', `${quote(shown)} changed while it was read. Try again.`);
}

function tooLarge(shown: string, size: number, limit: number): ToolError {
  const next = size <= HIGHEST_MAX_BYTES ? 'Raise max_bytes, or reduce the file first' : 'Reduce the file first';
  return new ToolError('TOO_LARGE', `${quote(shown)} has ${size} bytes; the limit is ${limit}. ${next}.`);
}
