// Which configuration of git runs no program and names no other path: what git itself writes into a repository.

const HARMLESS_HEADER =
  /^\[(?:core|user|init|extensions|index|pull|push|fetch|lfs|rerere|(?:remote|branch|submodule) "[^"\\]*")\]$/;
/**
 * Only whole lines of this form count. git could read a line differently when it continues on the next one or follows a header
 * on the same line.
 */
const HARMLESS_LINE =
  /^\t(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|objectformat|url|fetch|pushurl|active|remote|merge|rebase|name|email|defaultBranch|autocrlf|eol|safecrlf|quotepath|default|autosetupremote|prune|ff|enabled|conflictstyle|sparsecheckout(?:cone)?|sparse|worktreeconfig) = [^\\"#;]*$/i;
/** What git itself changes when branches are created, tracked and deleted. No addresses, as work would be pushed there. */
const HARMLESS_CHANGE =
  /^\t(?:repositoryformatversion|filemode|remote|merge|rebase|active|sparsecheckout(?:cone)?|sparse|worktreeconfig) = [\w./@+-]*$/i;
const WORK_TREE = /^\tworktree = ([^\\"#;]*)$/i;

/** The first line of a configuration that is not harmless. */
export function harmfulLine(
  config: string,
  isExpectedWorkTree: (path: string) => boolean = () => false,
): string | undefined {
  return config.split('\n').find((line) => !isHarmless(line) && !isExpectedWorkTree(WORK_TREE.exec(line)?.[1] ?? ''));
}

/**
 * True when a configuration adds nothing harmful: each line existed before in the same section, or only follows a branch.
 */
export function addsNothingHarmful(before: string, after: string): boolean {
  if (before === after) return true;
  if (/\\\r?\n/.test(after)) return false; // continuation lines make the sections ambiguous
  const known = new Set(linesInSections(before));
  return linesInSections(after).every((line) => known.has(line));
}

/** The lines that could do harm, each with its section. */
function linesInSections(config: string): string[] {
  let section = '';
  return config.split('\n').flatMap((line) => {
    if (/^\s*\[/.test(line)) section = line;
    const isHarmlessLine = line === '' || HARMLESS_HEADER.test(line) || HARMLESS_CHANGE.test(line);
    return isHarmlessLine ? [] : [`${section}\n${line}`];
  });
}

function isHarmless(line: string): boolean {
  return line === '' || HARMLESS_HEADER.test(line) || HARMLESS_LINE.test(line);
}
