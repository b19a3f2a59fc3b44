import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ["find src -name '*.ts' -type f", ["find src -name '*.ts' -type f"]],
  ['find . -newer a', ['find . -newer a']],
  ['find . -newer /etc/passwd', ['outside /etc/passwd', 'find . -newer /etc/passwd']],
  ['find -L src', ['option find -L', 'find -L src']],
  ['find src -delete', ['option find -delete', 'find src -delete']],
  ['find . -delete', ['? protected .', 'option find -delete', 'find . -delete']],
  ['find . -fprint new', ['> new', 'option find -fprint', 'find . -fprint new']],
  ['find . -fprintf new %p', ['> new', 'option find -fprintf', 'find . -fprintf new %p']],
  ['find . -fls /tmp/x', ['outside > /tmp/x', 'option find -fls', 'find . -fls /tmp/x']],
  ['find src -exec cat {} \\;', ['option find -exec', "cat '{}'", "find src -exec cat '{}' ';'"]],
  ['find src -exec rm {} +', ['option find -exec', "rm '{}'", "? find src -exec rm '{}' +"]],
  ['find src -execdir cat {} \\;', ['option find -execdir', "cat '{}'", "? find src -execdir cat '{}' ';'"]],
  ['find src -exec cat {}', ['option find -exec', "cat '{}'", "? find src -exec cat '{}'"]],
  ['find . -files0-from a', ['? find . -files0-from a']],
  ['find -name a src', ['? find -name a src']],
];

testClaims(CASES);
