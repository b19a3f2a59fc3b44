// The project that the tests of searching and listing look through, and its rows in few words.

export const PROJECT = {
  'src/a.ts': 'const needle = 1;\nlet x;\n// Needle and needle\n',
  'src/deep/b.ts': 'needle\n',
  'docs/c.md': 'A needle in the docs.\n',
  'ignored.log': 'needle\n',
  'node_modules/m/index.js': 'needle\n',
  '.hidden/d.ts': 'needle\n',
  '.git/config': 'needle\n',
  '.gitignore': '*.log\nnode_modules/\n',
};

export const rows = (data: Record<string, unknown>): { path: string; line: number; column: number; text: string }[] =>
  data.matches as never;
export const places = (data: Record<string, unknown>): string[] =>
  rows(data).map(({ path, line }) => `${path}:${line}`);
