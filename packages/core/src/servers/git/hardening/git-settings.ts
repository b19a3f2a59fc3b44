// The environment and the settings that every git gets. Built from nothing: the host's GIT_* variables never reach it.
// Settings travel in the environment and not as `-c name=value`: there a driver named "a=b" would be misread.

import { delimiter, dirname } from 'node:path';
import { allowedEnvironment } from '../../../process/index.js';
import type { GitProgram } from '../../project/git/git-program.js';

/** Name and value, as `git config` has them. */
export type Setting = readonly [name: string, value: string];

/** Answers that programs read, whatever the configuration; nothing that outlives the call; no question to anybody. */
const ALWAYS: readonly Setting[] = [
  ['advice.detachedHead', 'false'],
  ['blame.ignoreRevsFile', ''],
  ['branch.autoSetupMerge', 'false'],
  ['checkout.guess', 'false'],
  ['color.ui', 'false'],
  ['commit.verbose', 'false'],
  ['core.commentChar', '#'],
  ['core.editor', 'true'],
  ['core.fsmonitor', 'false'], // a command, or a daemon that stays
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
  ['rerere.enabled', 'false'], // copies the files that .git/MERGE_RR names, wherever they are
  ['safe.bareRepository', 'explicit'],
  ['status.relativePaths', 'false'],
  ['status.submoduleSummary', 'false'],
  ['submodule.recurse', 'false'],
  ['user.useConfigOnly', 'true'],
];

/** What else an untrusted repository is denied: whatever would run a program that it names, or write where nothing says. */
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
  // A rename that is detected takes a change to a path that no difference names, a protected one too.
  ['merge.directoryRenames', 'false'],
  ['merge.renames', 'false'],
  ['merge.verifySignatures', 'false'],
  ['push.gpgSign', 'false'],
  ['tag.forceSignAnnotated', 'false'],
  ['tag.gpgSign', 'false'],
];

/** What the environment depends on. */
export interface GitEnvironmentOptions {
  program: GitProgram;
  projectDir: string;
  trusted: boolean;
  /** Over what {@link ALWAYS} and {@link UNTRUSTED} say. */
  settings: readonly Setting[];
  /** A command that only looks must not rewrite the index for it, nor wait for its lock. */
  readOnly: boolean;
  /** Pathspecs are patterns after all: for a git that makes some of its own, and is given none by a caller. */
  patterns?: boolean | undefined;
  /** The transports that may be used; none for whatever is not a network tool. */
  protocols?: readonly string[] | undefined;
}

/** The whole environment of one git. */
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
    // A name of no transport stands for none: an empty list would mean git's own default.
    GIT_ALLOW_PROTOCOL: protocols.length > 0 ? protocols.join(':') : 'none',
    GIT_NO_LAZY_FETCH: '1',
    // What holds the separator cannot be listed; the repository's place is looked at as well.
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
    // Passwords that curl would find in ~/.netrc are not sent to where a repository's settings lead.
    ...(protocols.length > 0 && { HOME: '/nonexistent' }),
  };
}

/** The environment in which the user's own settings are read, and nothing is done. */
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
