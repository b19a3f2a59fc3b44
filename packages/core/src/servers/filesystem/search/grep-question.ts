// What a search is asked, and what either engine answers.

import type { ProjectScope, ScopePath } from '../../project/scope/project-scope.js';
import type { GrepSink } from './grep-sink.js';
import type { Position } from './search-cursor.js';
import type { SearchPlace } from './search-place.js';

/** What one search is, for both engines. */
export interface GrepQuestion {
  scope: ProjectScope;
  asked: ScopePath;
  place: SearchPlace;
  args: {
    pattern: string;
    glob: readonly string[] | undefined;
    type: string | undefined;
    literal: boolean;
    case: 'sensitive' | 'insensitive' | 'smart';
    word: boolean;
    multiline: boolean;
    mode: 'content' | 'files' | 'count';
    limit: number;
    timeoutMs: number;
  };
  linesBefore: number;
  linesAfter: number;
  /** Only rows after this one. */
  after: Position | undefined;
  signal: AbortSignal;
  report: (rows: number) => void;
}

/** What a search found. */
export interface GrepOutcome {
  sink: GrepSink;
  timedOut: boolean;
  /** The rows are the first of all, in order: a later answer can go on after them. */
  isPrefix: boolean;
  /** How many rows were left out because they are not in the files, which changed meanwhile. */
  changed: number;
}
