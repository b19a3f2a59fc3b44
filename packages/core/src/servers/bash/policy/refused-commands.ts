// Commands of which nothing can be told from their words: they change the shell, run what they are given as text, or
// are whole environments of their own. A rule for one of them is never enough.

const GROUPS: readonly (readonly [names: string, reason: string])[] = [
  ['eval source . exec trap coproc mapfile readarray compgen complete compopt enable fc history', 'it runs text as a command'], // prettier-ignore
  ['let declare typeset local readonly export read unset set shopt getopts alias unalias hash bind', 'it changes the shell, and with it what the next commands do'], // prettier-ignore
  ['cd pushd popd dirs', 'it changes the directory in a way that is not followed here'],
  ['suspend logout caller umask ulimit', 'it changes the shell'],
  ['su chroot unshare nsenter systemd-run runuser pkexec script expect unbuffer parallel at batch crontab rlwrap', 'it runs another command that is not seen here'], // prettier-ignore
  ['strace ltrace gdb lldb perf valgrind', 'it runs another command that is not seen here'],
  ['ed ex vi vim nvim view nano pico emacs emacsclient less more most man info pg top htop screen tmux', 'it is interactive and can run anything'], // prettier-ignore
  ['ssh scp sftp rsync rsh telnet ftp nc ncat socat', 'it runs or moves things on another machine'],
  ['zip wget split csplit dd install m4 tclsh lua luajit osascript', 'its options can write or run anything'],
  ['if then else elif fi case esac for select while until do done in function [[ ]] { } !', 'it is a word of the language, not a command'], // prettier-ignore
];

const REFUSED: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(([names, reason]) => names.split(' ').map((name) => [name, reason] as const)),
);

/** Words by which a builtin runs a command: `jobs -x rm a`, or in the index of a variable `wait -p 'a[$(rm a)]'`. */
const RUNNING_WORDS: ReadonlyMap<string, RegExp> = new Map([
  ['wait', /^-(?!n$)/],
  ['jobs', /^-.*x/],
]);

/** Why a command, or with these words, is never understood; undefined when it may be. */
export function refusalOf(name: string, rest: readonly string[]): string | undefined {
  const running = RUNNING_WORDS.get(name);
  if (running && rest.some((text) => running.test(text))) return 'its option can run another command';
  return REFUSED.get(name);
}

/** Variables that only choose how much a program says, in which language, or a mode of its own. */
const HARMLESS_VARIABLES: ReadonlySet<string> = new Set(
  'NODE_ENV CI FORCE_COLOR NO_COLOR CLICOLOR CLICOLOR_FORCE DEBUG TZ LANG LC_ALL LC_CTYPE LC_MESSAGES LC_COLLATE RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PORT VERBOSE COLUMNS LINES TERM CARGO_TERM_COLOR GO111MODULE CGO_ENABLED GOOS GOARCH'.split(' '), // prettier-ignore
);

/** True for a variable, with its value, that changes nothing of what a command does to others. */
export function isHarmlessVariable(name: string, value: string): boolean {
  return HARMLESS_VARIABLES.has(name) && /^[A-Za-z0-9_.,:@%*+-]*$/.test(value);
}
