// Which awk programs only print: they start no program, open no file, and do not change what awk reads next.

/** awk's built-in variables have capitals. The others (ARGV, ENVIRON, SYMTAB) reach beyond the input. */
const HARMLESS_VARIABLES: ReadonlySet<string> = new Set(
  'BEGIN END NR FNR NF FS OFS RS ORS FILENAME RSTART RLENGTH OFMT CONVFMT SUBSEP'.split(' '),
);
const HARMFUL_NAMES: ReadonlySet<string> = new Set('system getline close fflush function func include load'.split(' '));

/** Why an awk program may do more than print; undefined when it cannot. */
export function unknownInAwkProgram(program: string): string | undefined {
  // Text in a string is only printed. With "/" or "#" in the program, a quote may belong to an expression or a comment.
  const code = /[/#]/.test(program) ? program : program.replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
  if (/[|@`]|\\\n/.test(code.replace(/\|\|/g, ''))) return 'the awk program has a pipe or an indirect call';
  // After print, ">" writes a file; before every print it compares. The ends of statements are not analyzed.
  if (/print[^]*>/.test(program)) return 'the awk program may write a file';
  for (const [name] of code.matchAll(/[A-Za-z_][A-Za-z0-9_]*/g)) {
    if (/[A-Z]/.test(name) ? HARMLESS_VARIABLES.has(name) : !HARMFUL_NAMES.has(name)) continue;
    return `the awk program uses "${name.slice(0, 40)}", which is not known to only print`;
  }
  return undefined;
}
