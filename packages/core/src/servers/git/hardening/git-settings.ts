// The environment and the settings of every git process. Built from scratch, so the host's GIT_* variables never reach it.
// Settings are passed in the environment rather than as `-c name=value`, which would misread a driver named "a=b".

import { delimiter, dirname } from 'node:path';
import { allowedEnvironment } from '../../../process/index.js';
import type { GitProgram } from '../../project/git/git-program.js';

/** The name and the value of a setting, as in `git config`. */
export type Setting = readonly [name: string, value: string];

/** Settings for machine-readable output, without prompts and without processes that outlive the call. */
const ALWAYS: readonly Setting[] = [
  ['advice.detachedHead', 'false'],
  ['blame.ignoreRevsFile', ''],
  ['branch.autoSetupMerge', 'false'],
  ['checkout.guess', 'false'],
  ['color.ui', 'false'],
  ['commit.verbose', 'false'],
  ['core.commentChar', '#'],
  ['core.editor', 'true'],
  ['core.fsmonitor', 'false'], // may be a command, or start a daemon
  ['core.pager', 'cat'],
  ['core.quotePath', 'false'],
  ['diff.external', ''],
  ['diff.mnemonicPrefix', 'false'],
  ['diff.noprefix', 'false'],
  ['diff.orderFile', '/dev/null'],
  ['diff.relative', 'false'],
  ['diff.renames', 'true'],
  ['diff.submodule', 'short'],
  ['fetch.recurseSubmodules', 'false'],
  ['fetch.writeCommitGraph', 'false'],
  ['gc.auto', '0'],
  ['i18n.commitEncoding', 'UTF-8'],
  ['i18n.logOutputEncoding', 'UTF-8'],
  ['log.showSignature', 'false'], // runs gpg
  ['maintenance.auto', 'false'],
  ['merge.autoStash', 'false'],
  ['merge.ff', 'true'],
  ['merge.stat', 'false'],
  ['protocol.ext.allow', 'never'],
  ['push.followTags', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['rebase.abbreviateCommands', 'false'],
  ['rebase.autoSquash', 'false'],
  ['rebase.autoStash', 'false'],
  ['rebase.rebaseMerges', 'false'],
  ['rebase.updateRefs', 'false'],
  ['rerere.enabled', 'false'], // copies the files listed in .git/MERGE_RR, wherever they are
  ['safe.bareRepository', 'explicit'],
  ['status.relativePaths', 'false'],
  ['status.submoduleSummary', 'false'],
  ['submodule.recurse', 'false'],
  ['user.useConfigOnly', 'true'],
];

/** Options of git's diff commands that prevent helpers configured in the repository from running. */
export const NO_DIFF_HELPERS = ['--no-ext-diff', '--no-textconv'] as const;

/** Settings for untrusted repositories: prevent programs named by the repository from running, and unexpected writes. */
const UNTRUSTED: readonly Setting[] = [
  ['commit.gpgSign', 'false'],
  ['core.alternateRefsCommand', 'true'],
  ['core.askPass', 'false'],
  ['core.gitProxy', ''],
  ['core.hooksPath', '/dev/null'],
  ['core.sshCommand', 'ssh -oBatchMode=yes'],
  ['credential.helper', ''],
  ['gpg.program', 'false'],
  ['gpg.ssh.defaultKeyCommand', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
  // A detected rename applies a change to a path that no diff lists, which may be protected.
  ['merge.directoryRenames', 'false'],
  ['merge.renames', 'false'],
  ['merge.verifySignatures', 'false'],
  ['push.gpgSign', 'false'],
  ['tag.forceSignAnnotated', 'false'],
  ['tag.gpgSign', 'false'],
];

/** Options of the environment. */
export interface GitEnvironmentOptions {
  program: GitProgram;
  projectDir: string;
  trusted: boolean;
  /** Override {@link ALWAYS} and {@link UNTRUSTED}. */
  settings: readonly Setting[];
  /** True for a read-only command, which must not rewrite the index or wait for its lock. */
  readOnly: boolean;
  /** Whether pathspecs are patterns: for commands that create some themselves and receive none from a caller. */
  patterns?: boolean | undefined;
  /** The allowed transports; none unless it is a network tool. */
  protocols?: readonly string[] | undefined;
}

/** The whole environment of one git process. */
export function gitEnvironment(options: GitEnvironmentOptions): Record<string, string> {
  const { program, projectDir, trusted, readOnly, patterns = false, protocols = [] } = options;
  const host = allowedEnvironment();
  const settings = [...ALWAYS, ...(trusted ? [] : UNTRUSTED), ...options.settings];
  const env: Record<string, string> = {
    ...(trusted ? host : pick(host, ['HOME', 'TMPDIR', 'SYSTEMROOT', 'TEMP', 'TMP'])),
    PATH: program.searchPath,
    LC_ALL: 'C.UTF-8',
    GIT_TERMINAL_PROMPT: '0',
    GIT_PAGER: 'cat',
    GIT_EDITOR: ':',
    GIT_SEQUENCE_EDITOR: ':',
    GIT_MERGE_AUTOEDIT: 'no',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_LITERAL_PATHSPECS: patterns ? '0' : '1',
    GIT_PROTOCOL_FROM_USER: '0',
    // An invalid name stands for no transport: an empty list would mean git's default.
    GIT_ALLOW_PROTOCOL: protocols.length > 0 ? protocols.join(':') : 'none',
    GIT_NO_LAZY_FETCH: '1',
    // A path with the separator cannot be listed; the repository's location is checked as well.
    ...(dirname(projectDir).includes(delimiter) ? {} : { GIT_CEILING_DIRECTORIES: dirname(projectDir) }),
    ...(readOnly && { GIT_OPTIONAL_LOCKS: '0' }),
    GIT_CONFIG_COUNT: String(settings.length),
  };
  for (const [index, [name, value]] of settings.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = name;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  if (trusted) return withUsersPlaces(env);
  return {
    ...env,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
    // Prevents curl from sending passwords of ~/.netrc to hosts that a repository configures.
    ...(protocols.length > 0 && { HOME: '/nonexistent' }),
  };
}

/** The environment for reading the user's settings. */
export function configEnvironment(program: GitProgram, projectDir: string): Record<string, string> {
  const env = gitEnvironment({ program, projectDir, trusted: true, settings: [], readOnly: true });
  return withUsersPlaces(env);
}

function withUsersPlaces(env: Record<string, string>): Record<string, string> {
  return { ...env, ...pick(process.env, ['XDG_CONFIG_HOME', 'SSH_AUTH_SOCK']) };
}

function pick(from: Readonly<Record<string, string | undefined>>, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = from[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}
