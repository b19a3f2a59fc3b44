import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ['eval ls', ['? eval ls']],
  ['source a', ['? source a']],
  ['export X=1', ['? export X=1']],
  ['pushd src', ['? pushd src']],
  ['umask 0', ['? umask 0']],
  ['strace ls', ['? strace ls']],
  ['vim a', ['? vim a']],
  ['ssh host ls', ['? ssh host ls']],
  ['wget x', ['? wget x']],
  ['if x', ['? if x']],
  ['wait -n', ['wait -n']],
  ['wait -p x', ['? wait -p x']],
  ['jobs -l', ['jobs -l']],
  ['jobs -x ls', ['? jobs -x ls']],
];

testClaims(CASES);
