// Locations for results: with the text of their lines, without files that the policy denies.

import type { Location, LocationLink } from 'vscode-languageserver-protocol';
import { cutText } from '../../project/output-budget.js';
import { escapeControls, type ProjectScope } from '../../project/scope/project-scope.js';
import type { LanguageServers } from './language-servers.js';
import { rangeFromLsp, type FileRange } from './lsp-conversion.js';
import { pathOfUri } from './pushed-diagnostics.js';
import { TextPlaces } from './text-places.js';
import { objectSchema } from '../../../tool/object-schema.js';

const MAX_PREVIEW_BYTES = 200;

/** A location. */
export interface LocationRow {
  path: string;
  range: FileRange;
  /** The text of the line, trimmed. */
  preview?: string;
  /** True for a location outside the project, such as in a library; its path is absolute. */
  external?: true;
}

const place = { type: 'integer', minimum: 1 } as const;

/** {@link FileRange}, in JSON Schema. */
export const rangeOutput = objectSchema({ line: place, column: place, end_line: place, end_column: place });

/** {@link LocationRow}, in JSON Schema. */
export const locationOutput = objectSchema(
  {
    path: { type: 'string' },
    range: rangeOutput,
  },
  {
    preview: { type: 'string', description: 'The text of the line.' },
    external: { type: 'boolean', description: 'True for a location outside the project; its path is absolute.' },
  },
);

/** Converts a server's locations, in any format. Sorted, without duplicates and without files that the policy denies. */
export function locationsOf(
  answer: unknown,
  scope: ProjectScope,
  permits: (shown: string) => boolean,
): { rows: LocationRow[]; withheld: number } {
  const rows = new Map<string, LocationRow>();
  let withheld = 0;
  const list: unknown[] = Array.isArray(answer) ? answer : answer === null || answer === undefined ? [] : [answer];
  for (const each of list) {
    const { uri, range, targetUri, targetSelectionRange, targetRange } = Object(each) as Partial<
      Location & LocationLink
    >;
    const absolute = pathOfUri(uri ?? targetUri);
    const at = rangeFromLsp(range ?? targetSelectionRange ?? targetRange);
    if (absolute === undefined || !at) continue;
    const inside = scope.find(absolute);
    if (inside && !permits(inside.shown)) {
      withheld++;
      continue;
    }
    const row: LocationRow = inside ? { path: inside.shown, range: at } : { path: absolute, range: at, external: true };
    rows.set(JSON.stringify([row.path, at]), row);
  }
  const sorted = [...rows.values()].sort(
    (a, b) =>
      Number(a.external ?? false) - Number(b.external ?? false) ||
      (a.path < b.path ? -1 : a.path > b.path ? 1 : a.range.line - b.range.line || a.range.column - b.range.column),
  );
  return { rows: sorted, withheld };
}

/** Adds the text of the line to each location inside the project. */
export async function withPreviews(rows: readonly LocationRow[], servers: LanguageServers): Promise<LocationRow[]> {
  const texts = new Map<string, TextPlaces | undefined>();
  const shown: LocationRow[] = [];
  for (const row of rows) {
    if (!row.external && !texts.has(row.path)) {
      const text = await servers.readText(row.path).catch(() => undefined); // deleted meanwhile: without the text
      texts.set(row.path, text === undefined ? undefined : new TextPlaces(text));
    }
    const line = row.external ? undefined : texts.get(row.path)?.line(row.range.line);
    shown.push(line === undefined ? row : { ...row, preview: cutText(line.trim(), MAX_PREVIEW_BYTES) });
  }
  return shown;
}

/** A location as a line of text. */
export function locationLine({ path, range, preview }: LocationRow): string {
  const at = escapeControls(`${path}:${range.line}:${range.column}`);
  return preview === undefined ? at : `${at}: ${escapeControls(preview)}`;
}
