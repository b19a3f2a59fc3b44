// Which configuration of git runs no program and leads nowhere: as git itself writes it into a repository.

const HARMLESS_HEADER =
  /^\[(?:core|user|init|extensions|index|pull|push|fetch|lfs|rerere|(?:remote|branch|submodule) "[^"\\]*")\]$/;
/**
 * Only whole lines of this form count as read: what could continue on the next line, or stands beside a header, could be
 * read in another way by git.
 */
const HARMLESS_LINE =
  /^\t(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|objectformat|url|fetch|pushurl|active|remote|merge|rebase|name|email|defaultBranch|autocrlf|eol|safecrlf|quotepath|default|autosetupremote|prune|ff|enabled|conflictstyle|sparsecheckout(?:cone)?|sparse|worktreeconfig) = [^\\"#;]*$/i;
/** What git changes by itself when branches are made, followed and deleted. No address, as work would be pushed there. */
const HARMLESS_CHANGE =
  /^\t(?:repositoryformatversion|filemode|remote|merge|rebase|active|sparsecheckout(?:cone)?|sparse|worktreeconfig) = [\w./@+-]*$/i;
const WORK_TREE = /^\tworktree = ([^\\"#;]*)$/i;

/** The first line of a configuration that is not harmless. */
export function harmfulLine(
  config: string,
  isOwnWorkTree: (path: string) => boolean = () => false,
): string | undefined {
  return config.split('\n').find((line) => !isHarmless(line) && !isOwnWorkTree(WORK_TREE.exec(line)?.[1] ?? ''));
}

/**
 * True when a configuration says nothing that matters beyond what it said before: each line was there, in the same
 * section, or follows a branch.
 */
export function saysNothingNew(before: string, after: string): boolean {
  if (before === after) return true;
  if (/\\\r?\n/.test(after)) return false; // which lines belong together depends on the others
  const known = new Set(linesInSections(before));
  return linesInSections(after).every((line) => known.has(line));
}

/** The lines that matter, each with its section. */
function linesInSections(config: string): string[] {
  let section = '';
  return config.split('\n').flatMap((line) => {
    if (/^\s*\[/.test(line)) section = line;
    const isUsual = line === '' || HARMLESS_HEADER.test(line) || HARMLESS_CHANGE.test(line);
    return isUsual ? [] : [`${section}\n${line}`];
  });
}

function isHarmless(line: string): boolean {
  return line === '' || HARMLESS_HEADER.test(line) || HARMLESS_LINE.test(line);
}
