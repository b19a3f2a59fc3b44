// npm run bench [-- ROWS…]: measures the built packages, prints a table and writes bench/results.json.

import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform } from 'node:os';
import type { Row } from './method.js';
import { bashRows } from './rows/bash.js';
import { callRows } from './rows/calls.js';
import { diagnosticsRows } from './rows/diagnostics.js';
import { frameRows } from './rows/frames.js';
import { gitRows } from './rows/git.js';
import { importRows } from './rows/imports.js';
import { listingRows } from './rows/listing.js';
import { readingRows } from './rows/reading.js';
import { searchRows } from './rows/search.js';
import { toolSearchRows } from './rows/tool-search.js';
import { supervisionRows } from './rows/supervision.js';
import { gatewayRows } from './rows/gateway.js';
import { mcpRows } from './rows/mcp.js';
import { burstRows, processRows } from './rows/processes.js';
import { memoryRows } from './rows/memory.js';

const GROUPS: Record<string, () => Promise<Row[]>> = {
  calls: callRows,
  listing: listingRows,
  reading: readingRows,
  search: searchRows,
  'tool-search': toolSearchRows,
  bash: bashRows,
  git: gitRows,
  mcp: mcpRows,
  processes: processRows,
  bursts: burstRows,
  frames: frameRows,
  supervision: supervisionRows,
  gateway: gatewayRows,
  memory: memoryRows,
  diagnostics: diagnosticsRows,
  imports: importRows,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in GROUPS));
if (unknown.length > 0)
  throw new Error(`No rows are called ${unknown.join(', ')}; there are ${Object.keys(GROUPS).join(', ')}.`);

const rows: Row[] = [];
for (const [name, measure] of Object.entries(GROUPS)) {
  if (wanted.length === 0 || wanted.includes(name)) for (const row of await measure()) rows.push(row);
}

const figure = (value: number, unit?: 'MB'): string => {
  if (unit) return `${value.toFixed(1)} ${unit}`;
  return Math.abs(value) >= 1_000 ? `${(value / 1_000).toFixed(2)} ms` : `${value.toFixed(2)} us`;
};
const table = rows.map((row) => ({
  what: row.what,
  subject: row.subject,
  p50: figure(row.subjectUs, row.unit),
  p95: row.p95Us === undefined ? '' : figure(row.p95Us),
  against: row.against,
  'its p50': figure(row.againstUs, row.unit),
  'ratio (quartiles)': `${row.ratio.median.toFixed(2)} (${row.ratio.q1.toFixed(2)} to ${row.ratio.q3.toFixed(2)})`,
  more: figure(row.differenceUs.median, row.unit),
  reach: row.reach ? `${row.reach.bound}: ${row.reach.reached ? 'yes' : 'NO'}` : '',
}));
console.table(table);
const machine = { node: process.version, platform: `${platform()} ${arch()}`, cores: cpus().length };
await writeFile(new URL('results.json', import.meta.url), `${JSON.stringify({ machine, rows }, null, 2)}\n`);
