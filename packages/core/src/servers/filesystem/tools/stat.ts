// stat: reports the type, size, mode and times of a path, without its content.

import type { BigIntStats } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { entryTypeOf, type EntryType } from '../../project/open/directory-entries.js';
import { openEntryPlace, type EntryPlace } from '../../project/entries/entry-place.js';
import { fileFailure } from '../../project/open/file-failure.js';
import { leadsOutside } from '../../project/open/link-target.js';
import type { OpenedPath } from '../../project/open/opened-path.js';
import { lookUp } from '../../project/open/path-lookup.js';
import { etagOfBytes, type ProjectFiles } from '../../project/project-files.js';
import { escapeControls, type ScopePath } from '../../project/scope/project-scope.js';
import { claimEntry, claimPath, type FilesystemContext } from '../filesystem-context.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

/** Files up to this size are hashed for their etag. */
const MAX_HASHED_BYTES = 1024 * 1024;

const input = objectSchema(
  {
    path: { type: 'string', description: 'The file or directory, relative to the project.' },
  },
  {
    follow: {
      type: 'boolean',
      default: true,
      description: 'For a link: report its target. If false: the link itself.',
    },
  },
);

const output = objectSchema(
  {
    path: { type: 'string' },
    type: { type: 'string', enum: ['file', 'dir', 'symlink', 'other'] },
    size: { type: 'integer', description: 'In bytes.' },
    mode: { type: 'string', description: 'The permissions in octal, such as 0644.' },
    mtime_ms: { type: 'integer', description: 'When the content changed, in milliseconds since 1970.' },
    ctime_ms: { type: 'integer', description: 'When the content or the metadata changed.' },
    nlink: { type: 'integer', description: 'Number of hard links.' },
    is_symlink: { type: 'boolean', description: 'Whether the path itself is a link.' },
  },
  {
    target: { type: 'string', description: 'The target as written in the link.' },
    outside: { type: 'boolean', description: 'True for a link that resolves outside the project.' },
    etag: { type: 'string', description: 'Identifies this version, for if_match. Only for files up to 1 MiB.' },
  },
);

interface LinkInfo {
  is_symlink: boolean;
  target?: string;
  outside?: boolean;
}

/** The tool `stat`. */
export function statTool({ files }: FilesystemContext): Tool {
  return defineTool({
    name: 'stat',
    title: 'File information',
    description: 'Report the type, size, mode and times of a file, directory or link, without reading it.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path, follow }) =>
      follow ? claimPath(files, path, 'read') : claimEntry(files, path, 'read', 'reads its metadata'),
    async execute({ path, follow }) {
      const requested = files.scope.parse(path);
      const answer = await statOf(files, requested, follow);
      return { content: [{ type: 'text', text: textOf(answer) }], structuredContent: answer };
    },
  });
}

interface Answer extends LinkInfo {
  path: string;
  type: EntryType;
  size: number;
  mode: string;
  mtime_ms: number;
  ctime_ms: number;
  nlink: number;
  etag?: string;
}

async function statOf(files: ProjectFiles, requested: ScopePath, follow: boolean): Promise<Answer> {
  const { scope } = files;
  try {
    if (requested.absolute === requested.root.path) {
      await using root = await lookUp(scope, requested);
      return describe(requested, root.stats, { is_symlink: false });
    }
    await using place = await openEntryPlace(scope, requested, { write: false, mustExist: true });
    const link = await linkInfo(files, requested, place);
    if (place.stats?.isSymbolicLink() && !follow) return describe(requested, place.stats, link);
    await using opened = await lookUp(scope, requested);
    return { ...describe(requested, opened.stats, link), ...(await etagOf(opened)) };
  } catch (error) {
    throw fileFailure(error, 'look at', requested.shown);
  }
}

async function linkInfo(
  { scope }: ProjectFiles,
  requested: ScopePath,
  { directory, address, stats }: EntryPlace,
): Promise<LinkInfo> {
  if (!stats?.isSymbolicLink()) return { is_symlink: false };
  const target = await readlink(address);
  return { is_symlink: true, target, outside: await leadsOutside(scope, requested, directory, target) };
}

async function etagOf(opened: OpenedPath): Promise<{ etag?: string }> {
  if (!opened.stats.isFile() || opened.stats.size > MAX_HASHED_BYTES) return {};
  try {
    await using handle = await opened.openFile();
    const buffer = Buffer.allocUnsafe(Number(opened.stats.size) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) return { etag: etagOfBytes(buffer.subarray(0, length)) };
      length += bytesRead;
      if (length === buffer.length) return {}; // the file is growing
    }
  } catch {
    return {}; // a file that may not be read has stats all the same
  }
}

function describe(requested: ScopePath, stats: BigIntStats, link: LinkInfo): Answer {
  return {
    path: requested.shown,
    type: entryTypeOf(stats),
    size: Number(stats.size),
    mode: Number(stats.mode & 0o7777n)
      .toString(8)
      .padStart(4, '0'),
    mtime_ms: Number(stats.mtimeMs),
    ctime_ms: Number(stats.ctimeMs),
    nlink: Number(stats.nlink),
    ...link,
  };
}

function textOf({ path, type, size, mode, mtime_ms, target, outside }: Answer): string {
  const kind = { file: 'file', dir: 'directory', symlink: 'link', other: 'not a regular file' }[type];
  const link = target === undefined ? '' : `, -> ${escapeControls(target)}${outside ? ' (outside the project)' : ''}`;
  return `${escapeControls(path)}: ${kind}, ${size} bytes, mode ${mode}, changed ${new Date(mtime_ms).toISOString()}${link}`;
}
