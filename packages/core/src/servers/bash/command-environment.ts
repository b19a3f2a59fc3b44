// The environment of a command: a few harmless variables of the host, settings for programs without a terminal, and what
// operator and caller add. It never has a secret by accident, or a caller's variable that runs code.

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

/** Variables that make programs load or run code. */
const RUNS_CODE =
  /^(LD_.*|DYLD_.*|NODE_OPTIONS|BASH_ENV|ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|PS4|PROMPT_COMMAND|IFS|TOOLWRIGHT_.*|GIT_(?!(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)$).*|PERL5OPT|RUBYOPT|PYTHONSTARTUP|(_JAVA|JAVA_TOOL|JDK_JAVA)_OPTIONS)$/i;

const SECRET_NAME =
  /TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|PRIVATE|(^|_)(PWD|AUTH|CREDS?|CERT|DSN|URI|KEYS?)(_|$)(?<!^PWD)|KEY$|^DATABASE_URL$|_DATABASE_URL$/i;

/** A certificate is not a secret, but a command needs none in its environment. */
const CERTIFICATE = /-----BEGIN [A-Z ]*CERTIFICATE/;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_ADDED_BYTES = 64 * 1024;

/** True for a name or value that looks like a secret. */
export function looksSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || CERTIFICATE.test(value) || hasSecretShape(value);
}

/**
 * The whole environment of a command.
 *
 * @param fromHost the server's option `env`, which was checked at its creation
 * @param fromCaller the call's argument `env`
 * @throws {ToolError} INVALID_ARGUMENT for a caller's variable that may not be set
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
      `env.${name} looks like a secret, which a call must not pass to a command. Remove it; the operator can set it in the server's option env.`,
    );
  }
  const harmless = Object.entries(allowedEnvironment()).filter(([name, value]) => !looksSecret(name, value));
  return { ...Object.fromEntries(harmless), ...UNATTENDED, ...fromHost, ...fromCaller };
}

/**
 * Checks that variables are valid and run no code.
 *
 * @param what the name of the option or argument, for messages
 * @throws {ToolError} INVALID_ARGUMENT
 */
export function checkAdded(added: Readonly<Record<string, string>>, what: string): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(added)) {
    const shown = `${what}.${JSON.stringify(name.slice(0, 100)).slice(1, -1)}`;
    if (!NAME.test(name)) throw wrong(`${shown} is not a valid name of a variable: use letters, digits and _.`);
    if (typeof value !== 'string' || value.includes('\0')) throw wrong(`${shown} must be a string without NUL.`);
    if (RUNS_CODE.test(name)) {
      throw wrong(`${shown} cannot be set: it makes programs load or run code. Write it in the command instead.`);
    }
    bytes += name.length + Buffer.byteLength(value);
  }
  if (bytes > MAX_ADDED_BYTES) throw wrong(`${what} has ${bytes} bytes; the maximum is ${MAX_ADDED_BYTES}.`);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
