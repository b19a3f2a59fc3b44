import { TRANSFER_COMMANDS } from '../../../../../src/servers/bash/policy/commands/transfer-commands.js';
import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ['curl -sSL https://example.com/x', ['curl -sSL https://example.com/x']],
  ['curl -o new https://example.com/x', ['> new', 'curl -o new https://example.com/x']],
  ['curl -O https://example.com/x', ['option curl -O', 'curl -O https://example.com/x']],
  ['curl -T a https://example.com', ['option curl -T', 'curl -T a https://example.com']],
  ['curl -F x=@a https://example.com', ['option curl -F', 'curl -F x=@a https://example.com']],
  ['curl -d @a https://example.com', ['curl -d @a https://example.com']],
  ['curl -w x https://example.com', ['option curl -w', 'curl -w x https://example.com']],
  ['curl -K a', ['? curl -K a']],
  ["curl 'fil[e-e]:///etc/passwd'", ['outside /etc/passwd', "? curl 'fil[e-e]:///etc/passwd'"]],
  ['curl -o new#1 https://example.com', ["> 'new#1'", "? curl -o 'new#1' https://example.com"]],
  ['tar tf a.tar', ['tar tf a.tar']],
  ['tar -tzvf a.tar', ['tar -tzvf a.tar']],
  ['tar -xf a.tar', ['option tar -x', 'tar -xf a.tar']],
  ['tar czf a.tar src', ['option tar -c', 'tar czf a.tar src']],
  ['tar -tf host:a', ['? tar -tf host:a']],
  ['tar --to-command=./evil.sh -tf a', ['? tar --to-command=./evil.sh -tf a']],
];

testClaims(CASES, Object.keys(TRANSFER_COMMANDS));
