import { TEXT_COMMANDS } from '../../../../../src/servers/bash/policy/commands/text-commands.js';
import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ['nl -b a a', ['nl -b a a']],
  ['nl -z a', ['? nl -z a']],
  ['sort -k 2 -u a', ['sort -k 2 -u a']],
  ['sort -o new a', ['> new', 'sort -o new a']],
  ['sort --output=/tmp/x a', ['outside > /tmp/x', 'sort --output=/tmp/x a']],
  ['sort --parallel 2 a', ['sort --parallel 2 a']],
  ['sort -T /tmp a', ['outside /tmp', '? sort -T /tmp a']],
  ['uniq -c a', ['uniq -c a']],
  ['uniq a new', ['> new', 'uniq a new']],
  ['cut -d, -f 1 a', ['cut -d, -f 1 a']],
  ['cut --zzz a', ['? cut --zzz a']],
  ['tr -d x', ['tr -d x']],
  ['tr --truncate-set1 a b', ['? tr --truncate-set1 a b']],
  ['paste -sd, a', ['paste -sd, a']],
  ['paste -z a', ['paste -z a']],
  ['column -t a', ['column -t a']],
  ['column --json a', ['? column --json a']],
  ['fold -w 80 a', ['fold -w 80 a']],
  ['fold -w x a', ['? fold -w x a']],
  ['expand -t 4 a', ['expand -t 4 a']],
  ['rev a', ['rev a']],
  ['rev -x a', ['? rev -x a']],
  ['join -t , a b', ['join -t , a b']],
  ['comm -12 a b', ['comm -12 a b']],
  ['cmp -s a b', ['cmp -s a b']],
  ['cmp -n 5 a b', ['cmp -n 5 a b']],
  ['diff -u a x.js', ['diff -u a x.js']],
  ['diff -r src/deep up', ['option diff -r', 'diff -r src/deep up']],
  ['diff -U out a', ['outside <outside>', '? diff -U out a']],
  ['diff --from-file=a b', ['? diff --from-file=a b']],
  ['shuf -n 1 a', ['shuf -n 1 a']],
  ['shuf -o new a', ['> new', 'shuf -o new a']],
];

testClaims(CASES, Object.keys(TEXT_COMMANDS));
