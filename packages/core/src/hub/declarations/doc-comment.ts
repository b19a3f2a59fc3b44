// Texts of tools as comments that end where they should.

import { visibleText } from '../../contract/visible-text.js';

/** A longer text is cut: declarations are read by models. */
const MAX_CHARS = 1_000;

/** The lines of a doc comment; none for an empty text. Invisible characters are left out, and nothing in it ends the comment. */
export function docComment(text: string, indent: string): string[] {
  const clean = visibleText(text).trim();
  const cut = clean.length > MAX_CHARS ? `${clean.slice(0, MAX_CHARS).replace(/[\ud800-\udbff]$/, '')}…` : clean;
  const [first, ...others] = cut.replaceAll('*/', '*\\/').split('\n');
  if (first === undefined || first === '') return [];
  if (others.length === 0) return [`${indent}/** ${first} */`];
  return [`${indent}/**`, ...[first, ...others].map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}
