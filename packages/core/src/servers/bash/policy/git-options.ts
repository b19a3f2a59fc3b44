// git: the subcommands that are known, each with its harmless options. An unknown subcommand may be an alias, and an
// alias may be any command.

import { listedOptions, readOptions, type OptionList, type ReadOptions } from './option-grammar.js';
import type { ShellWord } from './script-tokens.js';

interface Subcommand extends OptionList {
  /** It only looks. The others change something, which a rule for their name allows. */
  reads?: true;
  /** Operands make it change something. */
  operandsChange?: string;
  /** These options make its operands harmless again. */
  unless?: string;
  /** The first operand must be one of these. */
  firstOperand?: readonly string[];
}

const SHOWN = '--oneline --graph --decorate --no-decorate --all --branches --tags --remotes --reverse --abbrev-commit --no-abbrev-commit --abbrev --pretty --format --date --merges --no-merges --first-parent --follow --topo-order --date-order --no-color --color --full-index --name-only --name-status --stat --numstat --shortstat --summary --patch --no-patch --raw --cc --minimal --patience --histogram --word-diff --color-words --color-moved --unified --find-renames --find-copies --no-renames --relative --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-space-at-eol --check --text --binary --no-ext-diff --no-textconv --submodule --diff-filter --exit-code --quiet --left-right --cherry-pick --cherry --boundary --no-prefix --show-signature --no-notes --simplify-by-decoration --dirstat --full-history --inter-hunk-context --function-context --compact-summary --merge-base --diff-merges'; // prettier-ignore
const SHOWN_NUMBERS = 'nU --max-count --skip';
const SHOWN_TEXTS = 'SGL --since --after --until --before --author --committer --grep';

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  status: { reads: true, flags: 'sbuvz --short --branch --porcelain --long --show-stash --ahead-behind --no-ahead-behind --untracked-files --ignored --renames --no-renames --verbose --column' }, // prettier-ignore
  log: { reads: true, flags: `pcgisuwbzMCEFPRma ${SHOWN}`, texts: SHOWN_TEXTS, numbers: SHOWN_NUMBERS, numeric: true },
  shortlog: { reads: true, flags: `sneuc ${SHOWN} --summary --numbered --email`, texts: '--since --until --author' },
  reflog: { reads: true, flags: `pis ${SHOWN}`, texts: SHOWN_TEXTS, numbers: SHOWN_NUMBERS, numeric: true, firstOperand: ['show', 'HEAD', 'exists', 'list'] }, // prettier-ignore
  diff: { reads: true, flags: `pusRwbzaMCW ${SHOWN} --cached --staged`, texts: SHOWN_TEXTS, numbers: SHOWN_NUMBERS },
  show: { reads: true, flags: `pusRwbzaMCW ${SHOWN}`, texts: SHOWN_TEXTS, numbers: SHOWN_NUMBERS, numeric: true },
  blame: { reads: true, flags: 'bcefnltswMCkp --porcelain --line-porcelain --show-email --show-name --show-number --date --root', texts: 'L --since' }, // prettier-ignore
  'ls-files': { reads: true, flags: 'cdmoiskutvfz --cached --deleted --modified --others --stage --ignored --exclude-standard --full-name --unmerged --killed --directory --error-unmatch --deduplicate', texts: 'x --exclude' }, // prettier-ignore
  'ls-tree': { reads: true, flags: 'rdtlz --name-only --name-status --full-name --full-tree --long --abbrev' },
  'rev-parse': { reads: true, flags: 'q --abbrev-ref --short --verify --show-toplevel --git-dir --is-inside-work-tree --show-prefix --show-cdup --symbolic-full-name --absolute-git-dir --symbolic --show-current --quiet --branches --all --is-bare-repository' }, // prettier-ignore
  'rev-list': {
    reads: true,
    flags: `${SHOWN} --count --objects`,
    texts: SHOWN_TEXTS,
    numbers: SHOWN_NUMBERS,
    numeric: true,
  },
  'merge-base': { reads: true, flags: 'a --all --is-ancestor --fork-point --octopus --independent' },
  'cat-file': { reads: true, flags: 'tsep' },
  'show-ref': { reads: true, flags: 'qds --heads --tags --verify --hash --head --quiet' },
  'for-each-ref': { reads: true, flags: '--format --sort --count --contains --merged --no-merged --points-at' },
  'name-rev': { reads: true, flags: '--name-only --tags --always' },
  'check-ignore': { reads: true, flags: 'vnqz --verbose --non-matching --no-index' },
  describe: { reads: true, flags: '--tags --always --dirty --abbrev --long --all --contains --exact-match --match --first-parent' }, // prettier-ignore
  grep: { reads: true, flags: 'nilLwvEFGPchHpWz --line-number --ignore-case --name-only --files-with-matches --count --word-regexp --extended-regexp --fixed-strings --perl-regexp --cached --untracked --heading --break --show-function --and --or --not --all-match', texts: 'e', numbers: 'ABCm --max-depth', textOperands: 1, insteadOfOperand: 'e' }, // prettier-ignore
  branch: { reads: true, flags: 'avrliq --all --verbose --remotes --list --show-current --merged --no-merged --contains --no-contains --sort --format --color --no-color --column --points-at --ignore-case', operandsChange: 'changes branches', unless: 'l --list --contains --no-contains --merged --no-merged --points-at', effects: changes('D d m M c C f u --delete --move --copy --force --set-upstream-to --unset-upstream --track', 'changes branches') }, // prettier-ignore
  tag: { reads: true, flags: 'ln --list --sort --contains --merged --no-merged --points-at --format --column', operandsChange: 'changes tags', unless: 'l --list --contains --merged --no-merged --points-at', effects: changes('a d f m s u --annotate --delete --force --message --sign', 'changes tags') }, // prettier-ignore
  remote: { reads: true, flags: 'v --verbose', firstOperand: ['show', 'get-url'] },
  stash: { flags: `pukaq ${SHOWN} --patch --keep-index --include-untracked --all --quiet --index --staged`, texts: 'm --message', firstOperand: ['list', 'show', 'push', 'pop', 'apply', 'drop'] }, // prettier-ignore
  add: {
    flags: 'Aunvf --all --update --dry-run --verbose --force --intent-to-add --renormalize --refresh --ignore-errors',
  },
  commit: { flags: 'aqvsno --all --quiet --verbose --signoff --amend --no-edit --no-verify --allow-empty --allow-empty-message --dry-run --short --status --no-status --reset-author --no-gpg-sign --porcelain', texts: 'm --message --author --date --cleanup --fixup --squash', values: 'F --file' }, // prettier-ignore
  checkout: {
    flags: 'bBqftd --quiet --force --track --no-track --detach --ours --theirs --orphan --progress --no-progress',
  },
  switch: {
    flags: 'cCqfdt --create --force-create --quiet --force --detach --track --no-track --discard-changes --orphan',
  },
  restore: { flags: 'SWq --staged --worktree --quiet --ours --theirs', texts: 's --source' },
  reset: { flags: 'qN --soft --mixed --hard --keep --merge --quiet' },
  rm: { flags: 'rfnq --cached --force --dry-run --quiet --ignore-unmatch' },
  mv: { flags: 'fknv --force --dry-run --verbose' },
  merge: { flags: 'qnv --no-ff --ff --ff-only --squash --abort --continue --no-commit --no-edit --stat --quiet', texts: 'm --message' }, // prettier-ignore
  pull: { flags: 'qvr --rebase --no-rebase --ff-only --ff --no-ff --quiet --verbose --tags --prune --autostash' },
  fetch: { flags: 'qvpatn --all --prune --tags --quiet --verbose --no-tags --dry-run --unshallow --progress', numbers: 'j --depth --jobs' }, // prettier-ignore
  push: { flags: 'qvunfd --set-upstream --quiet --verbose --dry-run --tags --follow-tags --all --porcelain --delete --force --force-with-lease --no-verify --progress' }, // prettier-ignore
  'cherry-pick': { flags: 'nxs --no-commit --abort --continue --skip --quit --signoff --no-edit' },
  revert: { flags: 'ns --no-commit --no-edit --abort --continue --skip --quit' },
  clean: { flags: 'ndfxXq --dry-run --force --quiet', texts: 'e --exclude' },
  init: { flags: 'q --quiet --bare', texts: 'b --initial-branch' },
  worktree: { firstOperand: ['list'], flags: 'v --porcelain --verbose' },
  submodule: { firstOperand: ['status'], flags: 'q --quiet --recursive --cached' },
};

/** Options before the subcommand that change nothing of what is judged. */
const HARMLESS_GLOBALS: ReadonlySet<string> = new Set(['--no-pager', '--no-optional-locks', '--literal-pathspecs']);

export interface GitCall {
  /** The subcommand and what follows, as a rule should see it. */
  readonly words: readonly ShellWord[];
  /** `-C`: where it runs. */
  readonly directory: ShellWord | undefined;
  readonly options: ReadOptions;
  readonly doubt: string | undefined;
  readonly reads: boolean;
}

/** Takes the words after `git` apart. */
export function readGitCall(given: readonly ShellWord[]): GitCall {
  let start = 0;
  let directory: ShellWord | undefined;
  for (; start < given.length; start++) {
    const { text } = given[start] as ShellWord;
    if (text === '-C' && !directory && given[start + 1]) directory = given[++start];
    else if (!HARMLESS_GLOBALS.has(text)) break;
  }
  const words = given.slice(start);
  const name = words[0]?.text ?? '';
  const subcommand = Object.hasOwn(SUBCOMMANDS, name) ? (SUBCOMMANDS[name] as Subcommand) : undefined;
  const options = readOptions(subcommand ?? {}, subcommand ? words.slice(1) : []);
  const call = { words, directory, options, reads: subcommand?.reads ?? false };
  if (/^(?:--version|version|help|--help)$/.test(name) && words.length === 1)
    return { ...call, reads: true, doubt: undefined };
  if (!subcommand) {
    const what = name.startsWith('-') ? `the option ${name} of git can run programs` : `"git ${name}" is not known: it may be an alias of any command`; // prettier-ignore
    return { ...call, doubt: what };
  }
  const operands = options.operands;
  if (subcommand.firstOperand && operands[0] && !subcommand.firstOperand.includes(operands[0].text))
    return { ...call, doubt: `"git ${name} ${operands[0].text}" is not known` };
  // ext::sh -c ...: an address that is a command.
  if (/^(?:fetch|pull|push|remote)$/.test(name) && operands.some(({ text }) => text.includes('::')))
    return { ...call, doubt: 'the address of a remote can be a command' };
  if (subcommand.operandsChange !== undefined && operands.length > 0) {
    const harmless = listedOptions(subcommand.unless);
    if (!options.given.some(([option]) => harmless.includes(option))) {
      const effects = [...options.effects, [operands[0]?.text ?? '', subcommand.operandsChange] as const];
      return { ...call, options: { ...options, effects }, doubt: undefined };
    }
  }
  return { ...call, doubt: undefined };
}

function changes(options: string, reason: string): Record<string, string> {
  return Object.fromEntries(options.split(' ').map((each) => [each.startsWith('--') ? each : `-${each}`, reason]));
}
