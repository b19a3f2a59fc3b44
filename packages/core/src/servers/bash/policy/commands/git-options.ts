// What the tables of git commands share: their format, and the options of all commands that show commits and changes.
// Source: git's manual. https://git-scm.com/docs

import type { CommandSpec, OptionTable } from '../option-grammar.js';

export interface GitCommandSpec extends CommandSpec {
  /** What operands make it do, where it only reads without them. */
  operandEffect?: string;
  /** Options that make its operands filters of a listing. */
  listingOptions?: readonly string[];
  /** The first operand must be one of these. */
  firstOperands?: readonly string[];
}

/** How commits and changes are shown. */
export const HISTORY_OPTIONS: OptionTable = {
  '--abbrev': 'flag',
  '--abbrev-commit': 'flag',
  '--all': 'flag',
  '--binary': 'flag',
  '--boundary': 'flag',
  '--branches': 'flag',
  '--cc': 'flag',
  '--check': 'flag',
  '--cherry': 'flag',
  '--cherry-pick': 'flag',
  '--color': 'flag',
  '--color-moved': 'flag',
  '--color-words': 'flag',
  '--compact-summary': 'flag',
  '--date': 'flag',
  '--date-order': 'flag',
  '--decorate': 'flag',
  '--diff-filter': 'flag',
  '--diff-merges': 'flag',
  '--dirstat': 'flag',
  '--exit-code': 'flag',
  '--find-copies': 'flag',
  '--find-renames': 'flag',
  '--first-parent': 'flag',
  '--follow': 'flag',
  '--format': 'flag',
  '--full-history': 'flag',
  '--full-index': 'flag',
  '--function-context': 'flag',
  '--graph': 'flag',
  '--histogram': 'flag',
  '--ignore-all-space': 'flag',
  '--ignore-blank-lines': 'flag',
  '--ignore-space-at-eol': 'flag',
  '--ignore-space-change': 'flag',
  '--inter-hunk-context': 'flag',
  '--left-right': 'flag',
  '--merge-base': 'flag',
  '--merges': 'flag',
  '--minimal': 'flag',
  '--name-only': 'flag',
  '--name-status': 'flag',
  '--no-abbrev-commit': 'flag',
  '--no-color': 'flag',
  '--no-decorate': 'flag',
  '--no-ext-diff': 'flag',
  '--no-merges': 'flag',
  '--no-notes': 'flag',
  '--no-patch': 'flag',
  '--no-prefix': 'flag',
  '--no-renames': 'flag',
  '--no-textconv': 'flag',
  '--numstat': 'flag',
  '--oneline': 'flag',
  '--patch': 'flag',
  '--patience': 'flag',
  '--pretty': 'flag',
  '--quiet': 'flag',
  '--raw': 'flag',
  '--relative': 'flag',
  '--remotes': 'flag',
  '--reverse': 'flag',
  '--shortstat': 'flag',
  '--show-signature': 'flag',
  '--simplify-by-decoration': 'flag',
  '--stat': 'flag',
  '--submodule': 'flag',
  '--summary': 'flag',
  '--tags': 'flag',
  '--text': 'flag',
  '--topo-order': 'flag',
  '--unified': 'flag',
  '--word-diff': 'flag',
};

/** Which commits and changes are shown. */
export const SELECTING_OPTIONS: OptionTable = {
  '-n --max-count': 'number',
  '-U': 'number',
  '-S': 'text',
  '-G': 'text',
  '-L': 'text',
  '--after': 'text',
  '--author': 'text',
  '--before': 'text',
  '--committer': 'text',
  '--grep': 'text',
  '--since': 'text',
  '--skip': 'number',
  '--until': 'text',
};
