import { BYTE_COMMANDS } from '../../../../../src/servers/bash/policy/commands/byte-commands.js';
import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ['md5sum a', ['md5sum a']],
  ['sha1sum -b a', ['sha1sum -b a']],
  ['sha256sum --text a', ['sha256sum --text a']],
  ['sha512sum -c a', ['? sha512sum -c a']],
  ['cksum a', ['cksum a']],
  ['cksum -a md5 a', ['? cksum -a md5 a']],
  ['base64 -d a', ['base64 -d a']],
  ['base64 -w 0 a', ['base64 -w 0 a']],
  ['od -An -tx1 a', ['od -An -tx1 a']],
  ['od -j x a', ['? od -j x a']],
  ['hexdump -C -n 16 a', ['hexdump -C -n 16 a']],
  ['hexdump -f a', ['? hexdump -f a']],
  ['xxd -l 16 a', ['xxd -l 16 a']],
  ['xxd -r a new', ['> new', 'xxd -r a new']],
  ['xxd -ps a', ['? xxd -ps a']],
  ['strings -n 8 a', ['strings -n 8 a']],
  ['strings @a', ['? strings @a']],
];

testClaims(CASES, Object.keys(BYTE_COMMANDS));
