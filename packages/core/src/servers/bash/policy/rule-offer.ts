// The wider rule that is offered next to the exact command: as wide as a person would mean it, not wider.

import { claimText, expands } from './claim-text.js';
import { familyOf, isInterpreter } from './commands/program-families.js';
import type { ShellWord } from './script-tokens.js';

const WITH_SUBCOMMANDS: ReadonlySet<string> = new Set(
  [
    'git gh make just task rake',
    'npm npx pnpm yarn bun deno turbo nx lerna rush',
    'cargo rustup go dotnet mvn gradle gradlew mix swift flutter dart',
    'pip pip3 pipenv poetry uv conda bundle gem composer',
    'docker podman kubectl helm terraform',
    'apt apt-get brew systemctl',
  ].flatMap((line) => line.split(' ')),
);
/** The name and one word of these are followed by a third: `npm run build`, `python -m pytest`. */
const WITH_TARGET =
  /^(?:(?:npm|pnpm|yarn|bun|deno) (?:run|exec|dlx|x|task)|(?:poetry|uv|pipenv) run|docker compose|cargo run|go run|python -m|bundle exec|dotnet tool|gh \w+|kubectl config)$/;
/** No one means to allow these with all arguments. */
const EXACT: ReadonlySet<string> = new Set(
  'rm rmdir mv cp ln chmod chown kill pkill killall curl truncate touch mkdir tar unzip gzip env'.split(' '),
);

/**
 * The wider pattern that a person may choose: the name, a subcommand or script where the program takes one, and any
 * arguments. Undefined where that would allow more than a person means: `rm *`, `git *`.
 */
export function widerPattern(words: readonly ShellWord[]): string | undefined {
  const [name = '', second] = words.map(({ text }) => text);
  if (EXACT.has(name)) return undefined;
  let length = 1;
  if (WITH_SUBCOMMANDS.has(name) || isInterpreter(name)) length = 2;
  if (WITH_TARGET.test(`${familyOf(name)} ${second}`)) length = 3;
  const offered = words.slice(0, length);
  // An option in place of the subcommand does not limit what follows.
  const isNamed = offered.slice(1).every(({ text }) => text === '-m' || !text.startsWith('-'));
  return offered.length === length && isNamed && !offered.some(expands) ? `${claimText(offered)} *` : undefined;
}
