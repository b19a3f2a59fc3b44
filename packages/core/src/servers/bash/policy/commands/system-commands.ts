// Commands that print their arguments, the time, or facts about the machine and its processes. Sources: the manuals of
// GNU coreutils, procps and lsof.

import type { CommandSpec } from '../option-grammar.js';

/** By name. */
export const SYSTEM_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  echo: {
    operands: 'text',
    safeWithAnyOption: true,
    printsArguments: true,
    options: {
      '-e': 'flag',
      '-E': 'flag',
      '-n': 'flag',
    },
  },
  true: {
    operands: 'text',
  },
  false: {
    operands: 'text',
  },
  ':': {
    operands: 'text',
  },
  pwd: {
    operands: 'text',
    options: {
      '-L': 'flag',
      '-P': 'flag',
    },
  },
  seq: {
    operands: 'text',
    options: {
      '-f': 'text',
      '-s': 'text',
      '-w': 'flag',
    },
  },
  sleep: {
    operands: 'text',
  },
  date: {
    unknown: ({ operands }) =>
      operands.every(({ text }) => text.startsWith('+')) ? undefined : 'it can set the clock',
    operands: 'text',
    options: {
      '-d --date': 'text',
      '-I --iso-8601': 'flag',
      '-R --rfc-email': 'flag',
      '-u --utc --universal': 'flag',
      '--rfc-3339': 'flag',
    },
  },
  whoami: {
    operands: 'text',
  },
  id: {
    operands: 'text',
    options: {
      '-g': 'flag',
      '-G': 'flag',
      '-n': 'flag',
      '-r': 'flag',
      '-u': 'flag',
      '-z': 'flag',
    },
  },
  uname: {
    operands: 'text',
    options: {
      '-a': 'flag',
      '-m': 'flag',
      '-n': 'flag',
      '-o': 'flag',
      '-p': 'flag',
      '-r': 'flag',
      '-s': 'flag',
      '-v': 'flag',
    },
  },
  nproc: {
    operands: 'text',
  },
  arch: {
    operands: 'text',
  },
  uptime: {
    operands: 'text',
    options: {
      '-p': 'flag',
      '-s': 'flag',
    },
  },
  which: {
    operands: 'text',
    options: {
      '-a': 'flag',
      '-s': 'flag',
    },
  },
  type: {
    operands: 'text',
    options: {
      '-a': 'flag',
      '-f': 'flag',
      '-p': 'flag',
      '-P': 'flag',
      '-t': 'flag',
    },
  },
  ps: {
    operands: 'text',
    options: {
      '-a': 'flag',
      '-A': 'flag',
      '-C': 'text',
      '-d': 'flag',
      '-e': 'flag',
      '-f': 'flag',
      '-g': 'text',
      '-G': 'text',
      '-H': 'flag',
      '-j': 'flag',
      '-l': 'flag',
      '-L': 'flag',
      '-M': 'flag',
      '-o': 'text',
      '-p': 'text',
      '-q': 'text',
      '-s': 'text',
      '-t': 'text',
      '-T': 'flag',
      '-u': 'flag',
      '-U': 'text',
      '-v': 'flag',
      '-w': 'flag',
      '-x': 'flag',
      '-Z': 'flag',
    },
  },
  pgrep: {
    operands: 'text',
    options: {
      '-a': 'flag',
      '-f': 'flag',
      '-g': 'text',
      '-G': 'text',
      '-i': 'flag',
      '-l': 'flag',
      '-n': 'flag',
      '-o': 'flag',
      '-P': 'text',
      '-s': 'text',
      '-t': 'text',
      '-u': 'text',
      '-U': 'text',
      '-v': 'flag',
      '-x': 'flag',
    },
  },
  free: {
    operands: 'text',
    options: {
      '-b': 'flag',
      '-g': 'flag',
      '-h': 'flag',
      '-k': 'flag',
      '-l': 'flag',
      '-m': 'flag',
      '-t': 'flag',
      '-w': 'flag',
    },
  },
  lsof: {
    operands: 'text',
    options: {
      '-i': 'text',
      '-n': 'flag',
      '-p': 'text',
      '-P': 'flag',
      '-t': 'flag',
      '-U': 'flag',
      '-V': 'flag',
    },
  },
};
