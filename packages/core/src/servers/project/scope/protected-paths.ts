// The protected names: files and directories whose content a program runs or trusts automatically. A name is compared as
// any common file system might interpret it, so the rule is the same on all of them and fails closed.

import type { BigIntStats } from 'node:fs';

/**
 * Protected with everything below them, at any depth, as programs also open nested repositories and projects.
 * `.git` is also the file that worktrees and submodules have.
 */
export const PROTECTED_NAMES: readonly string[] = [
  ...['.git', '.gitmodules', '.mcp.json', '.vscode', '.idea', '.claude', '.codex', '.envrc'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile'],
  ...[
    '.zshrc',
    '.zshenv',
    '.zprofile',
    '.zlogin',
    '.zlogout',
    '.kshrc',
    '.mkshrc',
    '.cshrc',
    '.tcshrc',
    '.login',
    '.logout',
  ],
  ...['toolwright.json', 'toolwright.jsonc', 'toolwright.yaml', 'toolwright.yml'],
];

/**
 * Protected names that a sandboxed command cannot create. A configuration that a command creates starts nothing before a
 * person has approved its text, and its placeholder would be visible in every listing.
 */
export const HELD_NAMES: readonly string[] = PROTECTED_NAMES.filter((name) => name.startsWith('.'));

const FOLDED_NAMES: ReadonlySet<string> = new Set(PROTECTED_NAMES);

/** The stems of NTFS short names: `.vscode` is also `VSCODE~1`, `.gitmodules` `GITMOD~1` or, by hash, `GI7EBA~1`. */
const SHORT_STEMS: ReadonlySet<string> = new Set([
  ...PROTECTED_NAMES.map((name) => name.replace(/^\./, '').replace(/\..*$/, '').slice(0, 6)),
  'gi7eba',
]);

/**
 * The modes of placeholders, which replace missing protected paths while a sandboxed command runs. With
 * {@link PLACEHOLDER_TIME} they distinguish a placeholder from an empty directory of the user.
 */
export const PLACEHOLDER_MODES = { directory: 0o1700, file: 0o1600 } as const;

/** The modification time of placeholders, in seconds since 1970. */
export const PLACEHOLDER_TIME = 0;

/** Whether the stats are those of a placeholder; a directory must be empty as well. Listings omit it. */
export function isPlaceholder(stats: BigIntStats): boolean {
  const mode = Number(stats.mode) & 0o7777;
  if (stats.mtimeNs !== BigInt(PLACEHOLDER_TIME)) return false;
  if (stats.isDirectory()) return mode === PLACEHOLDER_MODES.directory;
  return stats.isFile() && mode === PLACEHOLDER_MODES.file && stats.size <= 2n;
}

/**
 * The index of the first protected name among the components of a relative path, or -1. With `opened`, paths whose
 * protection the operator has lifted, a path at or below one of them is checked from there on.
 */
export function protectedIndex(components: readonly string[], opened: readonly (readonly string[])[]): number {
  const folded = components.map(foldName);
  const lifted = opened.reduce((most, prefix) => {
    const covers = prefix.length <= folded.length && prefix.every((name, index) => name === folded[index]);
    return covers ? Math.max(most, prefix.length) : most;
  }, 0);
  return folded.findIndex((name, index) => index >= lifted && isProtectedName(name));
}

/**
 * The canonical spelling of a name on all file systems: HFS+ ignores invisible code points, NTFS ignores trailing dots and
 * spaces and everything after a colon, and most fold case.
 */
export function foldName(name: string): string {
  const visible = name.normalize('NFKC').replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu, '');
  // Upper case first: ſ and ı have an ASCII upper case.
  const folded = visible.toUpperCase().toLowerCase();
  const stream = folded.indexOf(':');
  return (stream < 0 ? folded : folded.slice(0, stream)).replace(/[. ]+$/, '');
}

function isProtectedName(folded: string): boolean {
  if (FOLDED_NAMES.has(folded)) return true;
  const short = /^([^~.]{1,6})~\d+(\.[^.]{0,3})?$/.exec(folded);
  return short !== null && SHORT_STEMS.has(short[1] ?? '');
}
