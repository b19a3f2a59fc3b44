import { SYSTEM_COMMANDS } from '../../../../../src/servers/bash/policy/commands/system-commands.js';
import { testClaims, type ClaimCase } from '../claim-cases.js';

const CASES: readonly ClaimCase[] = [
  ['echo $X', ['echo $X']],
  ['echo -n /etc/passwd', ['echo -n /etc/passwd']],
  ['true x', ['true x']],
  ['false', ['false']],
  [': a', [': a']],
  ['pwd -P', ['pwd -P']],
  ['pwd --zzz', ['? pwd --zzz']],
  ['seq -w 1 10', ['seq -w 1 10']],
  ['sleep 5', ['sleep 5']],
  ['date +%F', ['date +%F']],
  ['date -d yesterday', ['date -d yesterday']],
  ['date 0101', ['? date 0101']],
  ['whoami', ['whoami']],
  ['id -u', ['id -u']],
  ['id -Z', ['? id -Z']],
  ['uname -a', ['uname -a']],
  ['nproc', ['nproc']],
  ['nproc --all', ['? nproc --all']],
  ['arch', ['arch']],
  ['uptime -p', ['uptime -p']],
  ['which -a node', ['which -a node']],
  ['type -t ls', ['type -t ls']],
  ['ps aux', ['ps aux']],
  ['ps -ef', ['ps -ef']],
  ['ps -D x', ['? ps -D x']],
  ['pgrep -fl node', ['pgrep -fl node']],
  ['pgrep -F a', ['? pgrep -F a']],
  ['free -h', ['free -h']],
  ['lsof -i :3000', ['lsof -i :3000']],
  ['lsof +L1', ['lsof +L1']],
];

testClaims(CASES, Object.keys(SYSTEM_COMMANDS));
