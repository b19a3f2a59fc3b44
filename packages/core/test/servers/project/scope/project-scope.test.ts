import { homedir } from 'node:os';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolError } from '../../../../src/contract/errors.js';
import { ProjectScope, type ProjectScopeOptions } from '../../../../src/servers/project/scope/project-scope.js';
import { createTestProject, type TestProject } from '../../../../src/testing/project.js';

let world: TestProject;
let projectDir: string;

beforeAll(async () => {
  world = await createTestProject({
    'proj/src/a.ts': 'a',
    'proj-evil/x': 'x',
    'lib/b.ts': 'b',
    link: { link: 'proj' },
    'vendor/c.ts': 'c',
  });
  projectDir = world.resolve('proj');
});
afterAll(() => world[Symbol.asyncDispose]());

const scope = (options: Partial<ProjectScopeOptions> = {}): ProjectScope =>
  new ProjectScope({ projectDir, ...options });

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (ToolError.isInstance(error)) return error.code;
    throw error;
  }
  return 'none';
}

describe('ProjectScope', () => {
  it.each([
    ['a relative directory', 'proj'],
    ['an empty text', ''],
    ['nothing', undefined],
    ['a missing directory', '/no/such/directory'],
    ['the root', '/'],
    ['the home directory', homedir()],
  ])('ProjectScope() throws INVALID_ARGUMENT when projectDir is %s', (_what, dir) => {
    expect(codeOf(() => new ProjectScope({ projectDir: dir as string }))).toBe('INVALID_ARGUMENT');
  });

  it('ProjectScope() throws INVALID_ARGUMENT when projectDir is a file', () => {
    expect(codeOf(() => new ProjectScope({ projectDir: `${projectDir}/src/a.ts` }))).toBe('INVALID_ARGUMENT');
  });

  it('ProjectScope() throws INVALID_ARGUMENT when an extra root is / or has another mode', () => {
    expect(codeOf(() => scope({ extraRoots: [{ path: '/', mode: 'ro' }] }))).toBe('INVALID_ARGUMENT');
    expect(codeOf(() => scope({ extraRoots: [{ path: world.resolve('lib'), mode: 'wr' as 'rw' }] }))).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('ProjectScope() makes projectDir real when it is given through a link', () => {
    const linked = scope({ projectDir: world.resolve('link') });
    expect(linked.projectDir).toBe(projectDir);
    expect(linked.parse(world.resolve('link/src/a.ts')).shown).toBe('src/a.ts');
    expect(linked.parse(`${projectDir}/src/a.ts`).shown).toBe('src/a.ts');
  });
});

describe('ProjectScope.parse()', () => {
  it.each([
    ['.', '.'],
    ['src/a.ts', 'src/a.ts'],
    ['./src/../src//a.ts', 'src/a.ts'],
    ['..foo', '..foo'],
    ['...', '...'],
    ['src/..a/b', 'src/..a/b'],
    ['~/.ssh/id', '~/.ssh/id'],
    ['$HOME/x', '$HOME/x'],
    ['%2e%2e/x', '%2e%2e/x'],
    ['..\\..\\x', '..\\..\\x'],
    ['a:b', 'a:b'],
  ])('parse() treats %s literally when it is inside', (path, shown) => {
    expect(scope().parse(path).shown).toBe(shown);
  });

  it.each(['..', '../x', 'a/../../x', '/etc/passwd', '//etc', 'a//../../x', './a/./../..', '/', '/proc/self/environ'])(
    'parse() throws OUTSIDE_PROJECT when the path is %s',
    (path) => {
      expect(codeOf(() => scope().parse(path))).toBe('OUTSIDE_PROJECT');
    },
  );

  it.each(['C:\\x', 'c:/x', '\\\\?\\C:\\x', '\\\\server\\share', 'file:///etc/passwd', 'FILE://x'])(
    'parse() throws INVALID_ARGUMENT when the path is the foreign form %s',
    (path) => {
      expect(codeOf(() => scope().parse(path))).toBe('INVALID_ARGUMENT');
    },
  );

  it('parse() throws OUTSIDE_PROJECT when a sibling shares the prefix of the project', () => {
    expect(codeOf(() => scope().parse(world.resolve('proj-evil/x')))).toBe('OUTSIDE_PROJECT');
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9_. ~-]{1,20}$/), (suffix) => {
        expect(codeOf(() => scope().parse(`${projectDir}${suffix}/x`))).toBe('OUTSIDE_PROJECT');
      }),
    );
  });

  it('parse() returns only paths inside when the path is any text', () => {
    const pieces = fc.constantFrom('..', '.', '', '/', 'a', '...', '..a', '~', '\\', 'proj', 'proj-evil', projectDir);
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 1, maxLength: 12 }), (parts) => {
        try {
          const { absolute } = scope().parse(parts.join('/'));
          expect(absolute === projectDir || absolute.startsWith(`${projectDir}/`)).toBe(true);
        } catch (error) {
          expect(ToolError.isInstance(error) && ['OUTSIDE_PROJECT', 'INVALID_ARGUMENT'].includes(error.code)).toBe(
            true,
          );
        }
      }),
    );
  });

  it.each([
    ['empty', ''],
    ['a NUL', 'a\0b'],
    ['a number', 7],
    ['null', null],
    ['nothing', undefined],
    ['over 4,096 bytes', 'a/'.repeat(2049)],
    ['a name over 255 bytes', 'é'.repeat(128)],
    ['half a surrogate pair', 'a\ud800'],
  ])('parse() throws INVALID_ARGUMENT when the path is %s', (_what, path) => {
    expect(codeOf(() => scope().parse(path))).toBe('INVALID_ARGUMENT');
  });

  it('parse() shows control and bidirectional characters by number when it refuses a path', () => {
    expect(() => scope().parse('../a\n\u001b[31m\u202eb')).toThrow(/"\.\.\/a\\u\{a\}\\u\{1b\}\[31m\\u\{202e\}b"/);
  });

  it('parse() returns absolute paths in an extra root, and the mode of the innermost root', () => {
    const wide = scope({
      extraRoots: [
        { path: world.resolve('lib'), mode: 'rw' },
        { path: `${projectDir}/src`, mode: 'ro' },
      ],
    });
    expect(wide.parse('../lib/b.ts')).toMatchObject({ shown: world.resolve('lib/b.ts'), root: { mode: 'rw' } });
    expect(wide.parse('src/a.ts')).toMatchObject({ shown: 'src/a.ts', root: { mode: 'ro' } });
    expect(codeOf(() => wide.parse(world.resolve('vendor/c.ts')))).toBe('OUTSIDE_PROJECT');
  });
});

describe('ProjectScope.assertWritable()', () => {
  const refusal = (path: string, options: Partial<ProjectScopeOptions> = {}): string => {
    const each = scope(options);
    return codeOf(() => each.assertWritable(each.parse(path)));
  };

  it.each([
    ...['.git', '.git/config', '.git/hooks/pre-commit', 'packages/x/.git/config', '.gitmodules', '.mcp.json', '.envrc'],
    ...[
      '.vscode/settings.json',
      '.idea/x',
      '.claude/settings.json',
      'sub/.envrc',
      '.bashrc',
      '.zshrc',
      '.profile',
      '.bash_profile',
      '.zprofile',
      '.zshenv',
    ],
    ...[
      '.GIT/config',
      '.Git',
      '.VSCODE/tasks.json',
      '.git./config',
      '.git /config',
      '.git. . /config',
      '.git::$INDEX_ALLOCATION/config',
    ],
    ...[
      '.envrc::$DATA',
      'git~1/config',
      'GIT~1',
      'GITMOD~1',
      'gi7eba~1',
      'VSCODE~1/x',
      '.g\u200cit/config',
      '.git\u200b',
      '\ufeff.git/config',
      '.vſcode/x',
      '.ｇｉｔ/config',
    ],
    'a/../.git/config',
  ])('assertWritable() throws PROTECTED_PATH when the path is %s', (path) => {
    expect(refusal(path)).toBe('PROTECTED_PATH');
  });

  it.each([
    '.gitignore',
    '.gitattributes',
    '.github/workflows/ci.yml',
    'git',
    'a.git',
    '.git-blame-ignore-revs',
    'src/.vscodeignore',
    'profile',
    'x~1',
    'LEGIT~1',
    '.',
  ])('assertWritable() allows %s when nothing protects it', (path) => {
    expect(refusal(path)).toBe('none');
  });

  it('assertWritable() allows exactly the paths of allowProtected', () => {
    const options = { allowProtected: ['.vscode', '.claude/commands'] };
    expect(refusal('.vscode/settings.json', options)).toBe('none');
    expect(refusal('.VSCode/settings.json', options)).toBe('none');
    expect(refusal('.claude/commands/x.md', options)).toBe('none');
    expect(refusal('.claude/settings.json', options)).toBe('PROTECTED_PATH');
    expect(refusal('.vscode/.git/config', options)).toBe('PROTECTED_PATH');
    expect(refusal('sub/.vscode/settings.json', options)).toBe('PROTECTED_PATH');
  });

  it('assertWritable() throws PERMISSION_DENIED when the root is read-only', () => {
    expect(refusal(world.resolve('lib/b.ts'), { extraRoots: [{ path: world.resolve('lib'), mode: 'ro' }] })).toBe(
      'PERMISSION_DENIED',
    );
  });

  it('assertWritable() protects extra roots too when they may be written', () => {
    expect(
      refusal(world.resolve('lib/.git/config'), { extraRoots: [{ path: world.resolve('lib'), mode: 'rw' }] }),
    ).toBe('PROTECTED_PATH');
  });
});
