// Commands whose operands are a program or an expression: sed, awk, test and printf. Sources: the manuals of GNU sed, gawk
// and bash. https://pubs.opengroup.org/onlinepubs/9799919799/utilities/awk.html

import { unknownInAwkProgram } from './awk-program.js';
import type { CommandSpec, ReadOptions } from '../option-grammar.js';
import { unknownInSedScript } from './sed-script.js';

const WRITES_IN_PLACE = 'writes the files in place';
const RUNS_SCRIPT_FILE = 'runs a script from a file';

/** By name. */
export const EXPRESSION_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  'sed gsed': {
    unknown: unknownInSed,
    textOperands: 1,
    patternOptions: ['-e', '--expression'],
    options: {
      '-e --expression': 'text',
      '-E --regexp-extended': 'flag',
      '-f --file': { effect: RUNS_SCRIPT_FILE },
      '-i --in-place': { effect: WRITES_IN_PLACE },
      '-n --quiet --silent': 'flag',
      '-r': 'flag',
      '-s --separate': 'flag',
      '-u --unbuffered': 'flag',
      '-z --null-data': 'flag',
      '--posix': 'flag',
      '--sandbox': 'flag',
    },
  },
  'awk gawk mawk nawk': {
    unknown: ({ texts }) => unknownInAwkProgram(texts[0]?.text ?? ''),
    textOperands: 1,
    optionsFirst: true,
    options: {
      '-F --field-separator': 'text',
      '-v --assign': 'text',
    },
  },
  'test [': {
    allOperands: true,
    unknown: unknownInTest,
  },
  printf: {
    allOperands: true,
    operands: 'text',
    unknown: unknownInFormat,
  },
};

function unknownInSed({ given, texts }: ReadOptions): string | undefined {
  const scripts = given.flatMap(([option, value]) =>
    /^(?:-e|--expression)$/.test(option) && value ? [value.text] : [],
  );
  if (scripts.length === 0) scripts.push(texts[0]?.text ?? '');
  return scripts.map(unknownInSedScript).find((reason) => reason !== undefined);
}

const TEST_OPERATORS = /^(?:-[fdesrwxhLnz]|={1,2}|!=|-nt|-ot|!|\])$/;
const TEST_NUMBERS = /^-(?:eq|ne|lt|gt|le|ge)$/;

function unknownInTest({ operands }: ReadOptions): string | undefined {
  const texts = operands.map(({ text }) => text);
  // -v and -t compute their operand, which can run commands: test -v 'a[$(x)]'.
  const unlisted = texts.find((text) => !TEST_OPERATORS.test(text) && !TEST_NUMBERS.test(text) && /^-|[[(]/.test(text));
  if (unlisted !== undefined) return `"${unlisted.slice(0, 40)}" in a test is not known to be harmless`;
  const comparesNumbers = texts.some((text) => TEST_NUMBERS.test(text));
  return comparesNumbers && !texts.every((text) => TEST_NUMBERS.test(text) || /^(?:-?\d+|!|\])$/.test(text))
    ? 'a test compares something that is not a number'
    : undefined;
}

const CONVERSION = /%(?:%|[-+ #0]*\d*(?:\.\d+)?[sdiuxXfgecbq])/g;

/** -v and %n set a variable, and computing its index can run commands. */
function unknownInFormat({ operands }: ReadOptions): string | undefined {
  const format = operands[0]?.text ?? '';
  if (format.startsWith('-')) return 'the option of printf is not known to be harmless';
  return format.replace(CONVERSION, '').includes('%') ? 'the format can set a variable' : undefined;
}
