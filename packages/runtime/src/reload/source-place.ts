// Finds the place of a failure in a provider's sources from the stack traces of Node and Python.

import type { SourceFault } from './import-graph.js';

/** `File "x.py", line 3` of Python, `file:///x.mjs:3:5` and `/x.cjs:3` of Node. */
const PLACES = [/File "([^"\n]+)", line (\d+)/g, /(?:file:\/\/)?((?:[A-Za-z]:)?[/\\][^\s:"'()]+):(\d+)/g];

/** The fault with its place: the innermost frame of the trace that is in one of the files. */
export function placeFault(message: string, stderr: string, files: ReadonlySet<string>): SourceFault {
  for (const [index, pattern] of PLACES.entries()) {
    const found = [...stderr.matchAll(pattern)].filter(([, file = '']) => files.has(file));
    const [, file, line] = (index === 0 ? found.at(-1) : found[0]) ?? [];
    if (file !== undefined) return { file, line: Number(line), message };
  }
  return { message };
}
