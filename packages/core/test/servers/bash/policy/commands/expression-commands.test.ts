import { EXPRESSION_COMMANDS } from '../../../../../src/servers/bash/policy/commands/expression-commands.js';
import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ['sed -n 1,20p a', ['sed -n 1,20p a']],
  ['sed -i s/a/b/ a', ['option sed -i', 'sed -i s/a/b/ a']],
  ['sed -f evil.sed a', ['option sed -f', '? sed -f evil.sed a']],
  ["sed -e p -e 'w new' a", ["? sed -e p -e 'w new' a"]],
  ['gsed -n p a', ['gsed -n p a']],
  ["awk '{print $1}' a", ["awk '{print $1}' a"]],
  ["awk -F: '{print $1}' a", ["awk -F: '{print $1}' a"]],
  ['gawk 1 a', ['gawk 1 a']],
  ['nawk 1 a', ['nawk 1 a']],
  ['awk -f evil.awk', ['? awk -f evil.awk']],
  ['mawk \'BEGIN{system("x")}\'', ['? mawk \'BEGIN{system("x")}\'']],
  ['test -f a', ['test -f a']],
  ['test -f /etc/passwd', ['outside /etc/passwd', 'test -f /etc/passwd']],
  ["test -v 'a[$(x)]'", ["? test -v 'a[$(x)]'"]],
  ['[ a = b ]', ["'[' a = b ']'"]],
  ['[ a -eq 1 ]', ["? '[' a -eq 1 ']'"]],
  ["printf '%s\\n' a", ["printf '%s\\n' a"]],
  ['printf -v x a', ['? printf -v x a']],
  ['printf %n a', ['? printf %n a']],
];

testClaims(CASES, Object.keys(EXPRESSION_COMMANDS));
