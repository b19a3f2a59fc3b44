import { SEARCH_COMMANDS } from '../../../../../src/servers/bash/policy/commands/search-commands.js';
import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ['grep -rn --include=*.ts TODO src', ['? grep -rn --include=*.ts TODO src']],
  ["grep -rn --include='*.ts' TODO src", ["grep -rn '--include=*.ts' TODO src"]],
  ['grep -A 2 -e one a', ['grep -A 2 -e one a']],
  ['grep -f src/a.ts a', ['grep -f src/a.ts a']],
  ['grep -f /etc/passwd a', ['outside /etc/passwd', 'grep -f /etc/passwd a']],
  ['grep -C one out', ['outside <outside>', '? grep -C one out']],
  ['grep -R one src', ['option grep -R', 'grep -R one src']],
  ['grep --zzz a', ['? grep --zzz a']],
  ["egrep -c 'a|b' a", ["egrep -c 'a|b' a"]],
  ['fgrep -x one a', ['fgrep -x one a']],
  ["rg -n -g '!dist' TODO src", ["rg -n -g '!dist' TODO src"]],
  ['rg --pre=cat x', ['? rg --pre=cat x']],
  ['rg -L x', ['option rg -L', 'rg -L x']],
  ['rg -f a src', ['rg -f a src']],
  ['jq -r .scripts package.json', ['jq -r .scripts package.json']],
  ['jq --indent 2 . package.json', ['jq --indent 2 . package.json']],
  ['jq -f a package.json', ['? jq -f a package.json']],
  ['jq \'import "x" as $x; .\' a', ['? jq \'import "x" as $x; .\' a']],
];

testClaims(CASES, Object.keys(SEARCH_COMMANDS));
