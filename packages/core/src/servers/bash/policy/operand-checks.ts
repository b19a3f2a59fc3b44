// Commands whose operands are a small language of their own: [ ], printf, date, jq, curl, tar.

import type { ReadOptions } from './option-grammar.js';

const TEST_OPERATORS = /^(?:-[fdesrwxhLnz]|={1,2}|!=|-nt|-ot|!|\])$/;
const TEST_NUMBERS = /^-(?:eq|ne|lt|gt|le|ge)$/;
const CONVERSION = /%(?:%|[-+ #0]*\d*(?:\.\d+)?[sdiuxXfgecbq])/g;

/** Why the operands can do more than the command's name says; undefined when they cannot. */
export function doubtOfOperands(
  name: string,
  { operands, given }: Pick<ReadOptions, 'operands' | 'given'>,
): string | undefined {
  const texts = operands.map(({ text }) => text);
  const valueOf = (...names: string[]): string[] =>
    given.flatMap(([option, value]) => (names.includes(option) && value ? [value.text] : []));
  switch (name) {
    case 'test':
    case '[': {
      // -v and -t compute their operand, which can run commands: test -v 'a[$(x)]'.
      const odd = texts.find((text) => !TEST_OPERATORS.test(text) && !TEST_NUMBERS.test(text) && /^-|[[(]/.test(text));
      if (odd !== undefined) return `"${odd.slice(0, 40)}" in a test is not known to be harmless`;
      const numbers = texts.some((text) => TEST_NUMBERS.test(text));
      return numbers && !texts.every((text) => TEST_NUMBERS.test(text) || /^(?:-?\d+|!|\])$/.test(text))
        ? 'a test compares something that is no number'
        : undefined;
    }
    case 'printf': {
      // -v and %n set a variable, and computing its index can run commands.
      const [format = ''] = texts;
      if (format.startsWith('-')) return 'the option of printf is not known to be harmless';
      return format.replace(CONVERSION, '').includes('%') ? 'the format can set a variable' : undefined;
    }
    case 'date':
      return texts.every((text) => text.startsWith('+')) ? undefined : 'it can set the clock';
    case 'jq':
      return /\b(?:import|include|modulemeta)\b/.test(texts[0] ?? '') ? 'the jq program reads other files' : undefined;
    case 'strings':
      return [...operands, ...given.map(([, value]) => value)].some((word) => word?.text.startsWith('@'))
        ? 'it takes options from a file: @FILE'
        : undefined;
    case 'tar':
      return valueOf('-f', '--file').some((file) => file.includes(':'))
        ? 'the archive may be on another machine'
        : undefined;
    case 'curl':
      // It may make the scheme of them too: fil[e-e]:///etc.
      if ([...texts, ...valueOf('--url')].some((text) => !/^https?:\/\//i.test(text) && /[[{]/.test(text)))
        return 'curl makes several addresses of it';
      return valueOf('-o', '--output').some((file) => file.includes('#'))
        ? 'the name of the file depends on the address'
        : undefined;
    default:
      return undefined;
  }
}
