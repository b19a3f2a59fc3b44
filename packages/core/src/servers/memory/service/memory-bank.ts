// The project's MEMORY_BANK.md, a file that people write, by its headings.

import { ToolError } from '../../../contract/errors.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { queryWords } from './words.js';

/** A heading and the text below it, up to the next heading. */
export interface BankEntry {
  /** Empty for the text before the first heading. */
  heading: string;
  text: string;
  /** The line number of the heading, from 1. */
  line: number;
}

export const BANK_FILE = 'MEMORY_BANK.md';
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * The matching entries in the order of the file, or best match first if a `query` is given.
 *
 * @throws {ToolError} NOT_FOUND when the file is missing, TOO_LARGE above 4 MiB
 */
export async function bankEntries(
  files: ProjectFiles,
  { query, section, limit }: { query?: string | undefined; section?: string | undefined; limit: number },
): Promise<BankEntry[]> {
  const { bytes } = await files.read(BANK_FILE);
  if (bytes.length > MAX_BYTES)
    throw new ToolError('TOO_LARGE', `${BANK_FILE} is over 4 MiB. Read it page by page with the filesystem tools.`);
  let entries = parseBank(bytes.toString('utf8'));
  if (section !== undefined) {
    const part = section.toLowerCase();
    entries = entries.filter(({ heading }) => heading.toLowerCase().includes(part));
  }
  if (query === undefined) return entries.slice(0, limit);
  const words = queryWords(query, 100);
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ entry }) => entry);
}

/** Splits the text at its headings. Headings in fenced code are text. */
export function parseBank(text: string): BankEntry[] {
  const entries: BankEntry[] = [];
  let heading = '';
  let start = 1;
  let lines: string[] = [];
  let fence: string | undefined;
  const finish = (): void => {
    const body = lines.join('\n').trim();
    if (heading !== '' || body !== '') entries.push({ heading, text: body, line: start });
  };
  for (const [index, line] of text
    .replace(/^\u{feff}/u, '')
    .split(/\r?\n/)
    .entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark.startsWith(fence)) fence = undefined;
    }
    const title = fence === undefined && mark === undefined ? /^ {0,3}#{1,6}[ \t]+(.*)$/.exec(line)?.[1] : undefined;
    if (title === undefined) {
      lines.push(line);
      continue;
    }
    finish();
    heading = title.replace(/[ \t]+#+[ \t]*$/, '').trim();
    start = index + 1;
    lines = [];
  }
  finish();
  return entries;
}

/** How many of the words the entry has; words in its heading count twice. */
function scoreOf({ heading, text }: BankEntry, words: readonly string[]): number {
  const [inHeading, inText] = [new Set(queryWords(heading, 1_000)), new Set(queryWords(text, 20_000))];
  return words.reduce((sum, word) => sum + (inHeading.has(word) ? 2 : 0) + (inText.has(word) ? 1 : 0), 0);
}
