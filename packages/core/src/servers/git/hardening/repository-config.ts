// Finds and overrides each configured program of a repository by name, as filters, drivers, helpers and remote programs have no
// common switch. Also selects the user's settings that apply to an untrusted repository.

import { ToolError } from '../../../contract/errors.js';
import type { Setting } from './git-settings.js';

/** One entry of `git config --list`. */
export interface ConfigEntry {
  scope: string;
  /** The section and the variable in lower case, the subsection unchanged. */
  key: string;
  value: string | undefined;
}

/** The limit of neutralised entries, which must fit into an environment. */
const MAX_NEUTRALIZED = 1_000;

/** Keys whose value is a program, by section and variable, with the value that replaces it. */
const RUNS: readonly (readonly [
  section: string,
  variables: readonly string[],
  neutral: (name: string) => readonly Setting[],
])[] = [
  [
    'filter',
    ['clean', 'smudge', 'process', 'required'],
    (name) => [
      [`filter.${name}.clean`, ''],
      [`filter.${name}.smudge`, ''],
      [`filter.${name}.process`, ''],
      [`filter.${name}.required`, 'false'],
    ],
  ],
  // An empty driver would make the merge fail.
  ['merge', ['driver'], (name) => [[`merge.${name}.driver`, 'git merge-file --marker-size=%L %A %O %B']]],
  ['diff', ['textconv'], (name) => [[`diff.${name}.textconv`, 'cat']]],
  ['diff', ['command'], (name) => [[`diff.${name}.command`, 'true']]],
  ['trailer', ['command'], (name) => [[`trailer.${name}.command`, 'true']]],
  ['trailer', ['cmd'], (name) => [[`trailer.${name}.cmd`, 'true']]],
  ['gpg', ['program'], (name) => [[`gpg.${name}.program`, 'false']]],
  ['gpg', ['defaultkeycommand'], (name) => [[`gpg.${name}.defaultKeyCommand`, 'false']]],
  ['credential', ['helper'], (name) => [[`credential.${name}.helper`, '']]],
  ['remote', ['uploadpack'], (name) => [[`remote.${name}.uploadpack`, 'git-upload-pack']]],
  ['remote', ['receivepack'], (name) => [[`remote.${name}.receivepack`, 'git-receive-pack']]],
  ['remote', ['proxy'], (name) => [[`remote.${name}.proxy`, '']]],
  ['submodule', ['update'], (name) => [[`submodule.${name}.update`, 'none']]],
  // Options for every merge into a branch; one of them reads the message from a file.
  ['branch', ['mergeoptions'], (name) => [[`branch.${name}.mergeOptions`, '--no-verify-signatures']]],
];

/** Parses `git config --list --show-scope -z`. */
export function parseConfig(output: Buffer): ConfigEntry[] {
  const fields = output.toString('utf8').split('\0');
  const entries: ConfigEntry[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const entry = fields[index + 1] ?? '';
    const end = entry.indexOf('\n');
    entries.push({
      scope: fields[index] ?? '',
      key: end < 0 ? entry : entry.slice(0, end),
      value: end < 0 ? undefined : entry.slice(end + 1),
    });
  }
  return entries;
}

/** True for an entry of the repository, as opposed to the user's or the system's. */
export function isOwn({ scope }: ConfigEntry): boolean {
  return scope !== 'global' && scope !== 'system';
}

/**
 * Settings that override the programs in these entries.
 *
 * @throws {ToolError} PERMISSION_DENIED for more programs than can be overridden
 */
export function neutralSettings(entries: readonly ConfigEntry[]): Setting[] {
  const settings = new Map<string, Setting>();
  for (const { key } of entries.filter(isOwn)) {
    const { section, name, variable } = splitKey(key);
    if (name === undefined) continue;
    for (const [of, variables, neutral] of RUNS) {
      if (section !== of || !variables.includes(variable)) continue;
      for (const setting of neutral(name)) settings.set(setting[0], setting);
    }
    if (settings.size > MAX_NEUTRALIZED)
      throw new ToolError(
        'PERMISSION_DENIED',
        `The repository's configuration names more than ${MAX_NEUTRALIZED} programs. The operator can remove them, or open it with trust: 'trusted'.`,
      );
  }
  return [...settings.values()];
}

/** The user's settings that apply to an untrusted repository unless it has its own: identity and ignored files. */
const CARRIED: ReadonlySet<string> = new Set([
  'user.name',
  'user.email',
  'author.name',
  'author.email',
  'committer.name',
  'committer.email',
  'core.autocrlf',
  'core.eol',
  'core.excludesfile',
  'init.defaultbranch',
  'safe.directory',
]);

/** Settings of the user that apply to an untrusted repository; none names a program. */
export function carriedSettings(entries: readonly ConfigEntry[]): Setting[] {
  const own = new Set(entries.filter(isOwn).map(({ key }) => key));
  return entries
    .filter(
      (entry) => !isOwn(entry) && CARRIED.has(entry.key) && (entry.key === 'safe.directory' || !own.has(entry.key)),
    )
    .map(({ key, value = 'true' }) => [key, value]);
}

/** Whether the repository's configuration includes other files, and whether it does so depending on the branch. */
export function includesOf(entries: readonly ConfigEntry[]): 'none' | 'fixed' | 'by-branch' {
  const keys = entries.filter(isOwn).map(({ key }) => key);
  if (keys.some((key) => key.startsWith('includeif.onbranch:'))) return 'by-branch';
  return keys.some((key) => key === 'include.path' || key.startsWith('includeif.')) ? 'fixed' : 'none';
}

/** Settings of the repository that change how its remotes are accessed. */
export function networkSettings(entries: readonly ConfigEntry[]): string[] {
  const loose =
    /^(?:http|credential|url|ssh)\.|^core\.(?:sshcommand|gitproxy|askpass)$|^remote\..*\.(?:uploadpack|receivepack|vcs|proxy|proxyauthmethod)$/s;
  return [...new Set(entries.filter((entry) => isOwn(entry) && loose.test(entry.key)).map(({ key }) => key))];
}

/** Splits a key: `filter.a.b.clean` has the section filter, the subsection a.b and the variable clean. */
function splitKey(key: string): { section: string; name: string | undefined; variable: string } {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  return {
    section: key.slice(0, first),
    name: first === last ? undefined : key.slice(first + 1, last),
    variable: key.slice(last + 1),
  };
}
