// read_many: returns the beginnings of several text files, which share the limits of one answer.

import { ToolError } from '../../../contract/errors.js';
import type { PermissionClaim } from '../../../contract/claims.js';
import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimPath, type FilesystemContext } from '../filesystem-context.js';
import { cutText } from '../../project/output-budget.js';
import { PAGE_PROPERTIES, pageAnswer, readPageOf, sizeOfPage, type ReadPage } from '../read/page-answer.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const MAX_PATHS = 50;
/** For the message of one failure, which may list similar names. */
const MAX_ERROR_BYTES = 300;

const input = objectSchema(
  {
    paths: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_PATHS,
      description: 'The files, relative to the project.',
    },
  },
  {
    limit: { type: 'integer', minimum: 1, default: 2_000, description: 'Maximum number of lines per file.' },
  },
);

const { path, ...pageProperties } = PAGE_PROPERTIES;

const output = objectSchema({
  files: {
    type: 'array',
    description: 'In the order of paths.',
    items: objectSchema(
      { path, ok: { type: 'boolean' } },
      {
        ...pageProperties,
        error: {
          description: 'Why the file could not be read.',
          ...objectSchema({ code: { type: 'string' }, message: { type: 'string' } }),
        },
      },
    ),
  },
});

type Outcome = { path: string; error: ToolError } | { path: string; read: ReadPage };

/** The tool `read_many`. */
export function readManyTool({ files, limits }: FilesystemContext): Tool {
  return defineTool({
    name: 'read_many',
    title: 'Read several files',
    description:
      'Read the beginnings of up to 50 text files in one call. They share 2,000 lines and 50 KiB: short files are complete, long ones are cut; ' +
      'continue with read_file. A file that cannot be read has an error; the others are still read.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ paths }) => claimsOf(files, paths),
    async execute({ paths, limit }, ctx) {
      // One after the other, each file once: memory holds only what the answer could show.
      const outcomes = new Map<string, Outcome>();
      for (const path of paths) {
        if (!outcomes.has(path)) outcomes.set(path, await outcomeOf(path, limit, ctx));
      }
      const requested = paths.flatMap((path) => outcomes.get(path) ?? []);
      const failures = requested.map((outcome) => ('error' in outcome ? failureText(outcome) : ''));
      const taken = failures.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      const sizes = requested.map((outcome) => ('read' in outcome ? sizeOfPage(outcome.read, true) : undefined));
      const bytes = shares(
        sizes.map((size) => size?.bytes ?? 0),
        limits.maxBytes - Math.min(taken, limits.maxBytes / 2),
      );
      const lines = shares(
        sizes.map((size) => size?.lines ?? 0),
        limits.maxLines,
      );
      const texts: string[] = [];
      const answers = requested.map((outcome, index) => {
        if ('error' in outcome) {
          texts.push(failures[index] ?? '');
          const { code, message } = outcome.error;
          return { path: outcome.path, ok: false, error: { code, message } };
        }
        const share = { maxBytes: Math.max(1, bytes[index] ?? 0), maxLines: Math.max(1, lines[index] ?? 0) };
        const { text, notice, facts } = pageAnswer(outcome.read, true, share);
        texts.push([headerOf(outcome.path), text, notice].filter((part) => part !== '').join('\n'));
        return { ...facts, ok: true };
      });
      return { content: [{ type: 'text', text: texts.join('\n\n') }], structuredContent: { files: answers } };
    },
  });

  async function outcomeOf(path: string, limit: number, ctx: ToolContext): Promise<Outcome> {
    ctx.signal.throwIfAborted();
    try {
      return { path, read: await readPageOf(files, files.scope.parse(path), { limit }, limits, ctx) };
    } catch (error) {
      ctx.signal.throwIfAborted();
      return { path, error: ToolError.from(error) };
    }
  }
}

/** A path that cannot be resolved does not fail the call: it is claimed as written, and fails when it is read. */
async function claimsOf(files: ProjectFiles, paths: readonly string[]): Promise<PermissionClaim[]> {
  const claims: PermissionClaim[] = [];
  let refusal: unknown;
  for (const path of paths) {
    try {
      for (const claim of await claimPath(files, path, 'read')) claims.push(claim);
    } catch (error) {
      refusal ??= error;
      try {
        const { shown } = files.scope.parse(path);
        claims.push({ pattern: shown, match: 'glob', understood: true, reason: 'reads it' });
      } catch {
        // Not a path in the project: it is never opened.
      }
    }
  }
  if (claims.length === 0) throw refusal;
  return claims;
}

/** Divides a total equally; what one item does not use is divided among the others. */
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

function headerOf(path: string): string {
  return `==> ${escapeControls(path)} <==`;
}

function failureText({ path, error }: { path: string; error: ToolError }): string {
  return `${headerOf(path)}\n[${error.code}] ${cutText(error.message, MAX_ERROR_BYTES)}`;
}
