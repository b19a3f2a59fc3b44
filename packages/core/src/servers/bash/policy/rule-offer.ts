// The wider rule that is offered beside a command as it stands: as wide as a person would mean it, no wider.

import { claimText, expands } from './claim-text.js';
import { familyOf, isInterpreter } from './commands/program-families.js';
import type { ShellWord } from './script-tokens.js';

const WITH_SUBCOMMANDS: ReadonlySet<string> = new Set(
  'git npm pnpm yarn npx cargo go docker podman kubectl helm terraform make poetry pip pip3 uv pipenv bundle rake gem dotnet mvn gradle gradlew rustup brew apt apt-get systemctl gh composer bun deno turbo nx lerna rush just task conda mix swift flutter dart'.split(' '), // prettier-ignore
);
/** Two words more than the name: `npm run build`, `python -m pytest`. */
const WITH_TARGET =
  /^(?:(?:npm|pnpm|yarn|bun|deno) (?:run|exec|dlx|x|task)|(?:poetry|uv|pipenv) run|docker compose|cargo run|go run|python -m|bundle exec|dotnet tool|gh \w+|kubectl config)$/;
/** One of these allowed for all arguments is more than anybody means. */
const EXACT: ReadonlySet<string> = new Set(
  'rm rmdir mv cp ln chmod chown kill pkill killall curl truncate touch mkdir tar unzip gzip env'.split(' '),
);

/**
 * The wider pattern that a person may choose: the name, with the subcommand or script where there is one, and whatever
 * follows. Undefined where it would say more than was meant: `rm *`, `git *`.
 */
export function widerPattern(words: readonly ShellWord[]): string | undefined {
  const [name = '', second] = words.map(({ text }) => text);
  if (EXACT.has(name)) return undefined;
  let length = 1;
  if (WITH_SUBCOMMANDS.has(name) || isInterpreter(name)) length = 2;
  if (WITH_TARGET.test(`${familyOf(name)} ${second}`)) length = 3;
  const offered = words.slice(0, length);
  // An option in the place of a subcommand says nothing of what will follow it.
  const isNamed = offered.slice(1).every(({ text }) => text === '-m' || !text.startsWith('-'));
  return offered.length === length && isNamed && !offered.some(expands) ? `${claimText(offered)} *` : undefined;
}
