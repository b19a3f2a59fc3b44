// Commands that fetch and list: curl and tar. Sources: their manuals.

import type { CommandSpec, ReadOptions } from '../option-grammar.js';

const SENDS_FILE = 'sends a file';
const SENDS_FORM = 'sends a form, which may hold files';
const WRITES_NAMED_FILE = 'writes a file that the address names';
const FORMATS_OUTPUT = 'formats its output, which can write files';
const EXTRACTS = 'writes what is in the archive';
const CREATES_ARCHIVE = 'writes an archive';

/** By name. */
export const TRANSFER_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  curl: {
    unknown: unknownAddress,
    options: {
      '-0': 'flag',
      '-4 --ipv4': 'flag',
      '-6 --ipv6': 'flag',
      '-A --user-agent': 'text',
      '-d --data': 'path',
      '-e --referer': 'text',
      '-f --fail': 'flag',
      '-F --form': { effect: SENDS_FORM },
      '-g --globoff': 'flag',
      '-G --get': 'flag',
      '-H --header': 'path',
      '-i --include': 'flag',
      '-I --head': 'flag',
      '-k --insecure': 'flag',
      '-L --location': 'flag',
      '-m --max-time': 'number',
      '-N --no-buffer': 'flag',
      '-o --output': 'output',
      '-O --remote-name': { effect: WRITES_NAMED_FILE },
      '-r --range': 'text',
      '-s --silent': 'flag',
      '-S --show-error': 'flag',
      '-T --upload-file': { effect: SENDS_FILE },
      '-u --user': 'text',
      '-v --verbose': 'flag',
      '-w --write-out': { effect: FORMATS_OUTPUT },
      '-X --request': 'text',
      '--compressed': 'flag',
      '--connect-timeout': 'number',
      '--data-binary': 'path',
      '--data-raw': 'path',
      '--data-urlencode': 'path',
      '--fail-with-body': 'flag',
      '--http1.1': 'flag',
      '--http2': 'flag',
      '--json': 'path',
      '--max-redirs': 'number',
      '--no-progress-meter': 'flag',
      '--retry': 'number',
      '--retry-delay': 'number',
      '--url': 'path',
    },
  },
  tar: {
    dashlessBundle: 'fC',
    unknown: (read) =>
      valuesOf(read, '-f', '--file').some((file) => file.includes(':'))
        ? 'the archive may be on another machine'
        : undefined,
    options: {
      '-c --create': { effect: CREATES_ARCHIVE },
      '-C --directory': 'path',
      '-f --file': 'path',
      '-j --bzip2': 'flag',
      '-J --xz': 'flag',
      '-t --list': 'flag',
      '-v --verbose': 'flag',
      '-x --extract': { effect: EXTRACTS },
      '-z --gzip': 'flag',
    },
  },
};

function unknownAddress(read: ReadOptions): string | undefined {
  const addresses = [...read.operands.map(({ text }) => text), ...valuesOf(read, '--url')];
  // Brackets and braces make several addresses, and may make their scheme too: fil[e-e]:///etc.
  if (addresses.some((text) => !/^https?:\/\//i.test(text) && /[[{]/.test(text)))
    return 'curl makes several addresses of it';
  return valuesOf(read, '-o', '--output').some((file) => file.includes('#'))
    ? 'the name of the file depends on the address'
    : undefined;
}

function valuesOf({ given }: ReadOptions, ...names: string[]): string[] {
  return given.flatMap(([option, value]) => (names.includes(option) && value ? [value.text] : []));
}
