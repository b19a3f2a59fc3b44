// npm run source-size: counts the files and lines of source again and writes them into the table of docs/architecture.md.
// Its test tolerates small differences.

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENT = join(ROOT, 'docs/architecture.md');
/** A row: its label, and the counts before and now. */
const ROW = /^\| ((?:`|@|together)[^|]*?) *\| *([\d,]+) \| *([\d,]+) \| *([\d,]+) \| *([\d,]+) \|$/gm;

export interface SourceSize {
  label: string;
  files: number;
  lines: number;
}

/** The rows of the table as they are documented. */
export function documentedSizes(document = readFileSync(DOCUMENT, 'utf8')): SourceSize[] {
  return [...document.matchAll(ROW)].map(([, label, , files, , lines]) => ({
    label: label!,
    files: numberOf(files!),
    lines: numberOf(lines!),
  }));
}

/** Counts the source of the places that a row names. */
export function sizeOf(label: string): SourceSize {
  const files = placesOf(label).flatMap((place) => sourcesBelow(join(ROOT, place)));
  const lines = files.map((file) => readFileSync(file, 'utf8').split('\n').length - 1);
  return { label, files: files.length, lines: lines.reduce((sum, count) => sum + count, 0) };
}

/** Folders and files by the label of a row; those without a package are in packages/core/src. */
function placesOf(label: string): string[] {
  if (label === 'together')
    return ['core/src', 'runtime/src', 'runtime/python/toolwright_provider', 'gateway/src'].map(ofPackages);
  if (label.includes('python/')) return [ofPackages('runtime/python/toolwright_provider')];
  const [, name] = /^@toolwright\/(\w+)$/.exec(label) ?? [];
  if (name) return [ofPackages(`${name}/src`)];
  return [...label.matchAll(/`([^`]+)`/g)].map(([, place]) => ofPackages(`core/src/${place}`));
}

const ofPackages = (place: string): string => `packages/${place}`;
const numberOf = (text: string): number => Number(text.replaceAll(',', ''));

function sourcesBelow(place: string): string[] {
  if (statSync(place).isFile()) return [place];
  return readdirSync(place, { withFileTypes: true }).flatMap((entry) => {
    const path = join(place, entry.name);
    if (entry.isDirectory()) return sourcesBelow(path);
    return /\.(ts|py)$/.test(entry.name) ? [path] : [];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = readFileSync(DOCUMENT, 'utf8').replace(ROW, (_, label: string, filesBefore, __, linesBefore) => {
    const { files, lines } = sizeOf(label);
    const cells = [filesBefore, files, linesBefore, lines.toLocaleString('en')].join(' | ');
    return `| ${label} | ${cells} |`;
  });
  writeFileSync(DOCUMENT, text);
}
