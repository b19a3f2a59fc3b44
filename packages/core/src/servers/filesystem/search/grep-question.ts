// The query of a search, and the outcome that both engines return.

import type { ProjectScope, ScopePath } from '../../project/scope/project-scope.js';
import type { GrepSink } from './grep-sink.js';
import type { Position } from './search-cursor.js';
import type { SearchPlace } from './search-place.js';

/** The query of one search, for both engines. */
export interface GrepQuestion {
  scope: ProjectScope;
  requested: ScopePath;
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

/** The outcome of a search. */
export interface GrepOutcome {
  sink: GrepSink;
  timedOut: boolean;
  /** The rows are the first of all, in order: a later page can continue after them. */
  isPrefix: boolean;
  /** The number of rows omitted because their files changed meanwhile. */
  changed: number;
}
