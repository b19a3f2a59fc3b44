// The commands that only read, each with the options that leave it so. Sources: the GNU coreutils, grep, ripgrep,
// diffutils, jq and curl manuals; an option that is not understood the same everywhere is left out.

import type { OptionList } from './option-grammar.js';

export interface Reader extends OptionList {
  /** None of its operands is a path. */
  operands?: 'text';
  /** No option of it does harm, so a wildcard may match a file that is named like one. */
  anyOption?: true;
  /** It does nothing but print what it is given, so variables may be given. */
  prints?: true;
}

const FOLLOWS = 'follows links, which may lead outside the project';

/** By name. */
export const READERS: ReadonlyMap<string, Reader> = new Map(
  Object.entries<Reader>({
    ls: { flags: 'aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 --all --almost-all --author --color --directory --classify --file-type --format --full-time --group-directories-first --human-readable --inode --indicator-style --no-group --numeric-uid-gid --quote-name --recursive --reverse --size --sort --time --time-style --width --zero --hyperlink', texts: 'I --ignore --hide --block-size', numbers: 'Tw --tabsize', effects: { '-L': FOLLOWS, '-H': FOLLOWS, '--dereference': FOLLOWS }, anyOption: true }, // prettier-ignore
    cat: { flags: 'AbeEnstTuv --show-all --number --number-nonblank --show-ends --squeeze-blank --show-tabs --show-nonprinting', anyOption: true }, // prettier-ignore
    tac: { flags: 'br', texts: 's' },
    nl: { flags: 'p', texts: 'bdfhilnsvw', anyOption: true },
    head: { flags: 'qvz --quiet --silent --verbose', numbers: 'nc --lines --bytes', numeric: true, anyOption: true },
    tail: { flags: 'qvzfFr --quiet --silent --verbose --follow --retry', numbers: 'nc --lines --bytes --pid --sleep-interval', numeric: true, anyOption: true }, // prettier-ignore
    wc: { flags: 'clmLw --bytes --chars --lines --words --max-line-length --total' },
    grep: GREP(),
    egrep: GREP(),
    fgrep: GREP(),
    rg: { flags: 'aFHIilLnNopPqsSUuvwxc0 --files --hidden --no-ignore --no-ignore-vcs --line-number --no-line-number --ignore-case --smart-case --case-sensitive --count --count-matches --files-with-matches --files-without-match --fixed-strings --pcre2 --multiline --multiline-dotall --only-matching --word-regexp --line-regexp --invert-match --heading --no-heading --json --vimgrep --column --no-messages --stats --trim --quiet --null --pretty --with-filename --no-filename --no-config --type-list --unrestricted --no-follow --binary --text --color', texts: 'egrtTE --regexp --glob --iglob --replace --type --type-not --sort --sortr --encoding --colors --engine', numbers: 'ABCmMjd --after-context --before-context --context --max-count --max-columns --max-depth --max-filesize --threads', values: 'f --file --ignore-file', textOperands: 1, insteadOfOperand: 'ef --regexp --file --files --type-list', effects: { '-L': FOLLOWS, '--follow': FOLLOWS } }, // prettier-ignore
    sort: { flags: 'bcCdfghimMnrRsuVz --reverse --numeric-sort --unique --human-numeric-sort --version-sort --ignore-case --stable --zero-terminated --check', texts: 'kt --key --field-separator', numbers: '--parallel', writes: 'o --output' }, // prettier-ignore
    uniq: { flags: 'cdDiuz --count --repeated --unique --ignore-case --zero-terminated', numbers: 'fsw --skip-fields --skip-chars --check-chars', maxOperands: 1 }, // prettier-ignore
    cut: { flags: 'nsz --only-delimited --complement', texts: 'bcdf --bytes --characters --delimiter --fields --output-delimiter', anyOption: true }, // prettier-ignore
    tr: { flags: 'cCdst --complement --delete --squeeze-repeats', operands: 'text' },
    paste: { flags: 'sz --serial', texts: 'd --delimiters', anyOption: true },
    column: { flags: 'txne --table', texts: 'sNoRr --separator --table-columns', numbers: 'c' },
    fold: { flags: 'bs', numbers: 'w --width', anyOption: true },
    expand: { flags: 'i', texts: 't', anyOption: true },
    rev: { anyOption: true },
    join: { flags: 'i', texts: 'aejotv12' },
    comm: { flags: '123z --check-order --nocheck-order --total' },
    cmp: { flags: 'bls --print-bytes --verbose --silent --quiet', numbers: 'in --bytes' },
    diff: { flags: 'abBcdeEiNpqsuwyTtz --brief --unified --context --color --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --minimal --new-file --no-dereference --side-by-side --suppress-common-lines --strip-trailing-cr --text --report-identical-files', texts: 'IxF --label --exclude', numbers: 'UCW --width', effects: { '-r': FOLLOWS, '--recursive': FOLLOWS } }, // prettier-ignore
    tree: { flags: 'adfgDFhiNpqrsStuvcCnJX --dirsfirst --filesfirst --noreport --gitignore --prune --du --si --inodes --device --version', texts: 'IP --charset --sort', numbers: 'L --filelimit', detached: true }, // prettier-ignore
    file: { flags: 'bEhiNnprsv0 --brief --mime --mime-type --mime-encoding --no-dereference' },
    stat: { flags: 't --terse', texts: 'c --format --printf' },
    du: { flags: 'abchkmsSx0 --all --apparent-size --bytes --human-readable --max-depth --summarize --total --one-file-system --time', texts: 'B --exclude --block-size', numbers: 'dt --threshold' }, // prettier-ignore
    df: { flags: 'ahHiklPT --human-readable --inodes --local --print-type', texts: 'tx' },
    readlink: { flags: 'efmnqsvz --canonicalize' },
    realpath: { flags: 'emLPqsz', values: '--relative-to --relative-base' },
    basename: { flags: 'az --multiple', texts: 's --suffix', operands: 'text' },
    dirname: { flags: 'z', operands: 'text' },
    md5sum: { flags: 'btz --binary --text' },
    sha1sum: { flags: 'btz --binary --text' },
    sha256sum: { flags: 'btz --binary --text' },
    sha512sum: { flags: 'btz --binary --text' },
    cksum: { flags: 'b' },
    base64: { flags: 'di --decode --ignore-garbage', numbers: 'w --wrap' },
    od: { flags: 'abcdfiloshvx', texts: 'At', numbers: 'jN' },
    hexdump: { flags: 'bcCdovx', texts: 'e', numbers: 'sn' },
    xxd: { flags: 'abeiprPuv', texts: 'n', numbers: 'closg', maxOperands: 1, single: true, leading: true },
    strings: { flags: 'afw --all', texts: 'etT', numbers: 'n' },
    jq: { flags: 'acCegjMnrRsS --compact-output --exit-status --join-output --monochrome-output --color-output --null-input --raw-input --raw-output --slurp --sort-keys --tab --ascii-output --stream --seq', numbers: '--indent', textOperands: 1 }, // prettier-ignore
    date: { flags: 'uRI --utc --rfc-email --iso-8601 --universal --rfc-3339', texts: 'd --date', operands: 'text' },
    echo: { flags: 'neE', operands: 'text', anyOption: true, prints: true },
    pwd: { flags: 'LP', operands: 'text' },
    true: { operands: 'text' },
    false: { operands: 'text' },
    ':': { operands: 'text' },
    seq: { flags: 'w', texts: 'sf', operands: 'text' },
    sleep: { operands: 'text' },
    whoami: { operands: 'text' },
    id: { flags: 'gGnruz', operands: 'text' },
    uname: { flags: 'amnoprsv', operands: 'text' },
    nproc: { operands: 'text' },
    arch: { operands: 'text' },
    uptime: { flags: 'ps', operands: 'text' },
    which: { flags: 'as', operands: 'text' },
    type: { flags: 'aptPf', operands: 'text' },
    ps: { flags: 'aAdefHjlLTuvwxMZ', texts: 'CopqstUGg', operands: 'text' },
    pgrep: { flags: 'afilnovx', texts: 'PuUgGst', operands: 'text' },
    free: { flags: 'bghkmtwl', operands: 'text' },
    lsof: { flags: 'nPtUV', texts: 'ip', operands: 'text' },
    tee: { flags: 'aip --append --ignore-interrupts', maxOperands: 0 },
    shuf: {
      flags: 'erz --echo --repeat --zero-terminated',
      texts: 'i --input-range',
      numbers: 'n --head-count',
      writes: 'o --output',
    },
    curl: { flags: 'sSfgIiLvk46G0N --silent --show-error --fail --fail-with-body --head --include --location --verbose --insecure --compressed --globoff --get --http1.1 --http2 --no-buffer --no-progress-meter --ipv4 --ipv6', texts: 'XAeur --request --user-agent --referer --user --range', numbers: 'm --max-time --connect-timeout --retry --retry-delay --max-redirs', values: 'dH --header --url --data --json --data-raw --data-binary --data-urlencode', writes: 'o --output', effects: { '-T': 'sends a file', '--upload-file': 'sends a file', '-F': 'sends a form, which may hold files', '--form': 'sends a form, which may hold files', '-O': 'writes a file that the address names', '--remote-name': 'writes a file that the address names', '-w': 'formats its output, which can write files', '--write-out': 'formats its output, which can write files' } }, // prettier-ignore
    tar: { flags: 'tzjJv --list --gzip --bzip2 --xz --verbose', values: 'fC --file --directory', effects: { '-x': 'writes what is in the archive', '-c': 'writes an archive', '--extract': 'writes what is in the archive', '--create': 'writes an archive' } }, // prettier-ignore
  }),
);

/** Three names, one program. `-R` follows links, `-r` does not. */
function GREP(): Reader {
  return {
    flags: 'abcEFGhHiIlLnopPqrsTUvwxyzZ --color --colour --count --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --line-number --with-filename --no-filename --only-matching --quiet --silent --no-messages --recursive --files-with-matches --files-without-match --null --text --byte-offset', // prettier-ignore
    texts: 'e --regexp --include --exclude --exclude-dir --binary-files',
    numbers: 'ABCm --after-context --before-context --context --max-count',
    values: 'f --file --exclude-from',
    textOperands: 1,
    insteadOfOperand: 'ef --regexp --file',
    numeric: true,
    effects: { '-R': FOLLOWS, '--dereference-recursive': FOLLOWS },
  };
}
