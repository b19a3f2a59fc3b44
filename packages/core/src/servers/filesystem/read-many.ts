// read_many: the beginnings of several text files in one answer, whose room they share.

import { ToolError } from '../../errors.js';
import type { PermissionClaim } from '../../tool-provider.js';
import { defineTool, type Tool } from '../../tool.js';
import type { ProjectFiles } from '../project-files.js';
import { escapeControls } from '../project-scope.js';
import { claimPath, type FilesystemContext } from './context.js';
import { cutText } from '../output-budget.js';
import { PAGE_PROPERTIES, pageAnswer, readPageOf, shownLines, type ReadPage } from './page-answer.js';

const MAX_PATHS = 50;
/** Of one failure, which may name what is near. */
const MAX_ERROR_BYTES = 300;

const input = {
  type: 'object',
  properties: {
    paths: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_PATHS,
      description: 'The files, relative to the project.',
    },
    limit: { type: 'integer', minimum: 1, default: 2_000, description: 'How many lines of each at most.' },
  },
  required: ['paths'],
} as const;

const output = {
  type: 'object',
  properties: {
    files: {
      type: 'array',
      description: 'In the order of paths.',
      items: {
        type: 'object',
        properties: {
          ...PAGE_PROPERTIES,
          ok: { type: 'boolean' },
          error: {
            type: 'object',
            description: 'Why it could not be read.',
            properties: { code: { type: 'string' }, message: { type: 'string' } },
            required: ['code', 'message'],
            additionalProperties: false,
          },
        },
        required: ['path', 'ok'],
        additionalProperties: false,
      },
    },
  },
  required: ['files'],
  additionalProperties: false,
} as const;

type Outcome = { path: string; error: ToolError } | { path: string; read: ReadPage; lines: string[]; header: string };

/** The tool `read_many`. */
export function readManyTool({ files, limits }: FilesystemContext): Tool {
  return defineTool({
    name: 'read_many',
    title: 'Read several files',
    description:
      'Read the beginnings of up to 50 text files at once. They share 2,000 lines and 50 KiB: short files are whole, long ones are cut, ' +
      'and read_file reads on. A file that cannot be read says why; the others are read.',
    input,
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ paths }) => claimsOf(files, paths),
    async execute({ paths, limit }, ctx) {
      const outcomes: Outcome[] = [];
      // One after the other: of each only as much is kept as could be shown.
      for (const path of paths) {
        ctx.signal.throwIfAborted();
        try {
          const request = { offset: 1, limit: Math.min(limit, limits.maxLines) };
          const read = await readPageOf(files, files.scope.parse(path), request, ctx);
          outcomes.push({ path, ...shortened(read, limits.maxBytes), header: headerOf(path) });
        } catch (error) {
          ctx.signal.throwIfAborted();
          outcomes.push({ path, error: ToolError.from(error) });
        }
      }
      const failures = outcomes.map((outcome) => ('error' in outcome ? failureText(outcome) : ''));
      const taken = failures.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      const bytes = shares(
        outcomes.map((outcome) => ('read' in outcome ? sizeOf(outcome.lines) : 0)),
        limits.maxBytes - Math.min(taken, limits.maxBytes / 2),
      );
      const lines = shares(
        outcomes.map((outcome) => ('read' in outcome ? outcome.lines.length : 0)),
        limits.maxLines,
      );
      const texts: string[] = [];
      const answers = outcomes.map((outcome, index) => {
        if ('error' in outcome) {
          texts.push(failures[index] ?? '');
          const { code, message } = outcome.error;
          return { path: outcome.path, ok: false, error: { code, message } };
        }
        const share = { maxBytes: Math.max(1, bytes[index] ?? 0), maxLines: Math.max(1, lines[index] ?? 0) };
        const { text, notice, facts } = pageAnswer(outcome.read, outcome.lines, share);
        texts.push([outcome.header, text, notice].filter((part) => part !== '').join('\n'));
        return { ...facts, ok: true };
      });
      return { content: [{ type: 'text', text: texts.join('\n\n') }], structuredContent: { files: answers } };
    },
  });
}

/** A path that cannot be read refuses nothing but itself: it is claimed as it is written, and fails when it is read. */
async function claimsOf(files: ProjectFiles, paths: readonly string[]): Promise<PermissionClaim[]> {
  const claims: PermissionClaim[] = [];
  let refusal: unknown;
  for (const path of paths) {
    try {
      claims.push(...(await claimPath(files, path, 'read')));
    } catch (error) {
      refusal ??= error;
      try {
        const { shown } = files.scope.parse(path);
        claims.push({ pattern: shown, match: 'glob', understood: true, reason: 'reads it' });
      } catch {
        // What no path of the project is spelled like is never opened.
      }
    }
  }
  if (claims.length === 0) throw refusal;
  return claims;
}

function shortened(read: ReadPage, maxBytes: number): { read: ReadPage; lines: string[] } {
  const lines = shownLines(read, true);
  let room = maxBytes;
  const end = lines.findIndex((line) => (room -= Buffer.byteLength(line) + 1) < 0);
  if (end < 0) return { read, lines };
  const kept = end + 1;
  return {
    read: { ...read, page: { ...read.page, lines: read.page.lines.slice(0, kept) } },
    lines: lines.slice(0, kept),
  };
}

/** Shares a total so that nobody gets more than they want, and what one leaves goes to the others in equal parts. */
function shares(wants: readonly number[], total: number): number[] {
  const given = wants.map(() => 0);
  let left = total;
  const order = wants.map((want, index) => ({ want, index })).sort((a, b) => a.want - b.want);
  for (const [position, { want, index }] of order.entries()) {
    const share = Math.min(want, Math.floor(left / (order.length - position)));
    given[index] = share;
    left -= share;
  }
  return given;
}

function sizeOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
}

function headerOf(path: string): string {
  return `==> ${escapeControls(path)} <==`;
}

function failureText({ path, error }: { path: string; error: ToolError }): string {
  return `${headerOf(path)}\n[${error.code}] ${cutText(error.message, MAX_ERROR_BYTES)}`;
}
