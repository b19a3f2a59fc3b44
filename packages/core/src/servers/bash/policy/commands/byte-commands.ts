// Commands that print checksums and bytes. Sources: the manuals of GNU coreutils and binutils, util-linux and xxd.

import type { CommandSpec, ReadOptions } from '../option-grammar.js';

const CHECKSUM: CommandSpec = {
  options: {
    '-b --binary': 'flag',
    '-t --text': 'flag',
    '-z': 'flag',
  },
};

/** By name. */
export const BYTE_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  md5sum: CHECKSUM,
  sha1sum: CHECKSUM,
  sha256sum: CHECKSUM,
  sha512sum: CHECKSUM,
  cksum: {
    options: {
      '-b': 'flag',
    },
  },
  base64: {
    options: {
      '-d --decode': 'flag',
      '-i --ignore-garbage': 'flag',
      '-w --wrap': 'number',
    },
  },
  od: {
    options: {
      '-a': 'flag',
      '-A': 'text',
      '-b': 'flag',
      '-c': 'flag',
      '-d': 'flag',
      '-f': 'flag',
      '-h': 'flag',
      '-i': 'flag',
      '-j': 'number',
      '-l': 'flag',
      '-N': 'number',
      '-o': 'flag',
      '-s': 'flag',
      '-t': 'text',
      '-v': 'flag',
      '-x': 'flag',
    },
  },
  hexdump: {
    options: {
      '-b': 'flag',
      '-c': 'flag',
      '-C': 'flag',
      '-d': 'flag',
      '-e': 'text',
      '-n': 'number',
      '-o': 'flag',
      '-s': 'number',
      '-v': 'flag',
      '-x': 'flag',
    },
  },
  xxd: {
    maxOperands: 1,
    unbundled: true,
    optionsFirst: true,
    options: {
      '-a': 'flag',
      '-b': 'flag',
      '-c': 'number',
      '-e': 'flag',
      '-g': 'number',
      '-i': 'flag',
      '-l': 'number',
      '-n': 'text',
      '-o': 'number',
      '-p': 'flag',
      '-P': 'flag',
      '-r': 'flag',
      '-s': 'number',
      '-u': 'flag',
      '-v': 'flag',
    },
  },
  strings: {
    unknown: optionsFromFile,
    options: {
      '-a --all': 'flag',
      '-e': 'text',
      '-f': 'flag',
      '-n': 'number',
      '-t': 'text',
      '-T': 'text',
      '-w': 'flag',
    },
  },
};

function optionsFromFile({ operands, given }: ReadOptions): string | undefined {
  const words = [...operands, ...given.map(([, value]) => value)];
  return words.some((word) => word?.text.startsWith('@')) ? 'it reads options from a file: @FILE' : undefined;
}
