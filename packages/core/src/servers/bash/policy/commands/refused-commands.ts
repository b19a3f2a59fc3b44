// Commands that are never understood: they change the shell, run text as commands, or can do anything, whatever their
// arguments say.

const GROUPS: readonly (readonly [reason: string, ...names: readonly string[]])[] = [
  [
    'it runs text as a command',
    'eval source . exec trap coproc mapfile readarray compgen complete compopt enable fc history',
  ],
  [
    'it changes the shell, and with it what the next commands do',
    'let declare typeset local readonly export read unset set shopt getopts alias unalias hash bind',
  ],
  ['it changes the directory in a way that is not followed here', 'cd pushd popd dirs'],
  ['it changes the shell', 'suspend logout caller umask ulimit'],
  [
    'it runs another command that is not seen here',
    'su chroot unshare nsenter systemd-run runuser pkexec script expect unbuffer parallel at batch crontab rlwrap',
    'strace ltrace gdb lldb perf valgrind',
  ],
  [
    'it is interactive and can run anything',
    'ed ex vi vim nvim view nano pico emacs emacsclient less more most man info pg top htop screen tmux',
  ],
  ['it runs or moves things on another machine', 'ssh scp sftp rsync rsh telnet ftp nc ncat socat'],
  ['its options can write or run anything', 'zip wget split csplit dd install m4 tclsh lua luajit osascript'],
  [
    'it is a word of the language, not a command',
    'if then else elif fi case esac for select while until do done in function [[ ]] { } !',
  ],
];

const REASONS: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(([reason, ...lines]) => lines.flatMap((line) => line.split(' ')).map((name) => [name, reason])),
);

/** Words by which a builtin runs a command: `jobs -x rm a`, or in the index of a variable: `wait -p 'a[$(rm a)]'`. */
const RUNNING_WORDS: ReadonlyMap<string, RegExp> = new Map([
  ['wait', /^-(?!n$)/],
  ['jobs', /^-.*x/],
]);

/** Why a command with these arguments is never understood; undefined when it may be. */
export function refusalOf(name: string, args: readonly string[]): string | undefined {
  const running = RUNNING_WORDS.get(name);
  if (running && args.some((text) => running.test(text))) return 'its option can run another command';
  return REASONS.get(name);
}

/** Variables that choose how much a program prints, its language, or one of its modes. */
const HARMLESS_VARIABLES: ReadonlySet<string> = new Set([
  ...['CARGO_TERM_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'COLUMNS', 'FORCE_COLOR', 'LINES', 'NO_COLOR', 'TERM'],
  ...['LANG', 'LC_ALL', 'LC_COLLATE', 'LC_CTYPE', 'LC_MESSAGES', 'TZ'],
  ...['CI', 'DEBUG', 'NODE_ENV', 'PORT', 'RUST_BACKTRACE', 'RUST_LOG', 'VERBOSE'],
  ...['PYTHONDONTWRITEBYTECODE', 'PYTHONUNBUFFERED'],
  ...['CGO_ENABLED', 'GO111MODULE', 'GOARCH', 'GOOS'],
]);

/** True when a variable with this value does not change what a command reads, writes or runs. */
export function isHarmlessVariable(name: string, value: string): boolean {
  return HARMLESS_VARIABLES.has(name) && /^[A-Za-z0-9_.,:@%*+-]*$/.test(value);
}
