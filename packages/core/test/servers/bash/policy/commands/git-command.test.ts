import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ['git --version', ['git --version']],
  ['git --no-pager log', ['git log']],
  ['git -C src status', ['git status']],
  ['git -C .. status', ['? git -C .. status']],
  ['git -c x=y status', ['? git -c x=y status']],
  ['git z', ['? git z']],
  ['git push ext::sh main', ['? git push ext::sh main']],
];

testClaims(CASES);
