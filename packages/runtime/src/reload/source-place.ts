// Where in a provider's sources a process failed, by what it wrote before it went: Node's and Python's traces.

import type { SourceFault } from './import-graph.js';

/** `File "x.py", line 3` of Python, `file:///x.mjs:3:5` and `/x.cjs:3` of Node. */
const PLACES = [/File "([^"\n]+)", line (\d+)/g, /(?:file:\/\/)?((?:[A-Za-z]:)?[/\\][^\s:"'()]+):(\d+)/g];

/** The fault with its place: the last of Python's trace, the first of Node's, that is in one of the files. */
export function placeFault(message: string, stderr: string, files: ReadonlySet<string>): SourceFault {
  for (const [index, pattern] of PLACES.entries()) {
    const found = [...stderr.matchAll(pattern)].filter(([, file = '']) => files.has(file));
    const [, file, line] = (index === 0 ? found.at(-1) : found[0]) ?? [];
    if (file !== undefined) return { file, line: Number(line), message };
  }
  return { message };
}
