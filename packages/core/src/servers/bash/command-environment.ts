// What a command finds in its environment: a few harmless settings of the host's, what makes programs behave without a
// person at a terminal, and what host and caller add. Never a secret by accident, nor a variable that runs code.

import { ToolError } from '../../contract/errors.js';
import { allowedEnvironment } from '../../process/index.js';
import { hasSecretShape } from '../project/secret-shapes.js';

/** No colours, no pagers, no prompts. */
const UNATTENDED: Readonly<Record<string, string>> = {
  TERM: 'dumb',
  CI: '1',
  NO_COLOR: '1',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  GIT_EDITOR: 'true',
  GH_PROMPT_DISABLED: '1',
  PIP_NO_INPUT: '1',
  PYTHONUNBUFFERED: '1',
  DEBIAN_FRONTEND: 'noninteractive',
};

/** Programs run, load or obey what is in these, whatever the command says. */
const RUNS_CODE =
  /^(LD_.*|DYLD_.*|NODE_OPTIONS|BASH_ENV|ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|PS4|PROMPT_COMMAND|IFS|TOOLWRIGHT_.*|GIT_(?!(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)$).*|PERL5OPT|RUBYOPT|PYTHONSTARTUP|(_JAVA|JAVA_TOOL|JDK_JAVA)_OPTIONS)$/i;

const SECRET_NAME =
  /TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|PRIVATE|(^|_)(PWD|AUTH|CREDS?|CERT|DSN|URI|KEYS?)(_|$)(?<!^PWD)|KEY$|^DATABASE_URL$|_DATABASE_URL$/i;

/** Certificates are no secret elsewhere; a command has no use for one in its environment. */
const CERTIFICATE = /-----BEGIN [A-Z ]*CERTIFICATE/;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_ADDED_BYTES = 64 * 1024;

/** True for a name or value that reads like a secret. */
export function looksSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || CERTIFICATE.test(value) || hasSecretShape(value);
}

/**
 * The environment of a command, whole.
 *
 * @param fromHost the server's own option, which was checked when it was made
 * @param fromCaller the call's argument
 * @throws {ToolError} INVALID_ARGUMENT for a variable of the caller's that may not be set
 */
export function commandEnvironment(
  fromHost: Readonly<Record<string, string>>,
  fromCaller: Readonly<Record<string, string>>,
): Record<string, string> {
  checkAdded(fromCaller, 'env');
  for (const [name, value] of Object.entries(fromCaller)) {
    if (!looksSecret(name, value)) continue;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `env.${name} looks like a secret, and a command is not given any. Leave it out; what the command needs, its operator sets in the server's env option.`,
    );
  }
  const harmless = Object.entries(allowedEnvironment()).filter(([name, value]) => !looksSecret(name, value));
  return { ...Object.fromEntries(harmless), ...UNATTENDED, ...fromHost, ...fromCaller };
}

/**
 * Refuses what is no variable, and what would run code.
 *
 * @param what the option or argument, for the message
 * @throws {ToolError} INVALID_ARGUMENT
 */
export function checkAdded(added: Readonly<Record<string, string>>, what: string): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(added)) {
    const shown = `${what}.${JSON.stringify(name.slice(0, 100)).slice(1, -1)}`;
    if (!NAME.test(name)) throw wrong(`${shown} is no name of a variable: letters, digits and _ only.`);
    if (typeof value !== 'string' || value.includes('\0')) throw wrong(`${shown} must be a text without NUL.`);
    if (RUNS_CODE.test(name)) {
      throw wrong(
        `${shown} is not set for commands: programs run or obey what is in it. Say it in the command instead.`,
      );
    }
    bytes += name.length + Buffer.byteLength(value);
  }
  if (bytes > MAX_ADDED_BYTES) throw wrong(`${what} holds ${bytes} bytes; at most ${MAX_ADDED_BYTES} are set.`);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
