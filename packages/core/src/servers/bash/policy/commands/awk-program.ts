// Which awk programs only print: they start nothing, open nothing, and do not change what awk will read next.

/** Names in capitals are awk's own variables; the others of them (ARGV, ENVIRON, SYMTAB) reach beyond the text. */
const HARMLESS_VARIABLES: ReadonlySet<string> = new Set(
  'BEGIN END NR FNR NF FS OFS RS ORS FILENAME RSTART RLENGTH OFMT CONVFMT SUBSEP'.split(' '),
);
const HARMFUL_NAMES: ReadonlySet<string> = new Set('system getline close fflush function func include load'.split(' '));

/** Why an awk program may do more than print; undefined when it cannot. */
export function unknownInAwkProgram(program: string): string | undefined {
  // What stands in a string is printed, not run. Beside "/" or "#" a quote may belong to an expression or a comment.
  const code = /[/#]/.test(program) ? program : program.replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
  if (/[|@`]|\\\n/.test(code.replace(/\|\|/g, ''))) return 'the awk program has a pipe or an indirect call';
  // After print, ">" is a file; before every print it compares. Where a statement ends is not looked at.
  if (/print[^]*>/.test(program)) return 'the awk program may write a file';
  for (const [name] of code.matchAll(/[A-Za-z_][A-Za-z0-9_]*/g)) {
    if (/[A-Z]/.test(name) ? HARMLESS_VARIABLES.has(name) : !HARMFUL_NAMES.has(name)) continue;
    return `the awk program uses "${name.slice(0, 40)}", which is not known to only print`;
  }
  return undefined;
}
