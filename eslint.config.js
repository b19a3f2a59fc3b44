// Typed lint rules, and the import directions between packages: gateway -> runtime -> core; one folder starts processes.
// The directions within a package are those of .dependency-cruiser.mjs.
import tseslint from 'typescript-eslint';

/** Ways to load node:child_process other than an import declaration. */
const NO_CHILD_PROCESS_BY_OTHER_MEANS = [
  {
    selector: 'ImportExpression[source.value=/^(node:)?child_process$/]',
    message: 'Start processes with spawnChild of src/process.',
  },
  {
    selector: "CallExpression[callee.name='require'][arguments.0.value=/child_process/]",
    message: 'Start processes with spawnChild of src/process.',
  },
  { selector: "CallExpression[callee.property.name='getBuiltinModule']", message: 'Import the module instead.' },
  {
    selector: "CallExpression[callee.name='createRequire']",
    message: 'Import the module instead; this library is ESM.',
  },
];
/** Arguments are on the stack: some 100,000 of them exceed the maximum call stack size. */
const NO_SPREAD_OF_UNKNOWN_SIZE = {
  selector:
    'CallExpression[callee.property.name=/^(push|unshift|splice|concat|min|max|fromCharCode|fromCodePoint)$/] > SpreadElement.arguments',
  message: 'A long array overflows the stack here. Use a loop, reduce or a literal.',
};
const CHILD_PROCESS = {
  group: ['node:child_process', 'child_process'],
  message: 'Start processes with spawnChild of src/process.',
  allowTypeImports: true,
};

const MCP_SDK = {
  group: ['@modelcontextprotocol/*', '@modelcontextprotocol/**'],
  message: 'The MCP SDK is imported in packages/core/src/mcp and packages/gateway/src/engines alone, types too.',
};
const NO_MCP_SDK_BY_OTHER_MEANS = {
  selector: 'ImportExpression[source.value=/^@modelcontextprotocol/]',
  message: MCP_SDK.message,
};

/** Replaces the restrictions of a folder, because flat config applies only the last rule. */
const restrict = (files, patterns, { ignores = [], childProcess = false, mcpSdk = false } = {}) => ({
  files,
  ignores,
  rules: {
    '@typescript-eslint/no-restricted-imports': [
      'error',
      { patterns: [...(childProcess ? [] : [CHILD_PROCESS]), ...(mcpSdk ? [] : [MCP_SDK]), ...patterns] },
    ],
    'no-restricted-syntax': [
      'error',
      ...(childProcess ? [] : NO_CHILD_PROCESS_BY_OTHER_MEANS),
      ...(mcpSdk ? [] : [NO_MCP_SDK_BY_OTHER_MEANS]),
      NO_SPREAD_OF_UNKNOWN_SIZE,
    ],
  },
});

const OUTER = {
  group: ['@toolwright/runtime', '@toolwright/runtime/*', '@toolwright/gateway', '@toolwright/gateway/*'],
  message: 'Imports run gateway -> runtime -> core.',
};
const GATEWAY = {
  group: ['@toolwright/gateway', '@toolwright/gateway/*'],
  message: 'Imports run gateway -> runtime -> core.',
};
const SIDEWAYS = { group: ['**/packages/*/src/**', '**/dist/**'], message: 'Import another package by its name.' };

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/node_modules/**',
      'coverage/**',
      'docs/api/**',
      'packages/*/test/**/fixtures/**',
      'tools/vector-kernel/**',
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ['*.js'] }, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'], // also under `using`
      '@typescript-eslint/prefer-promise-reject-errors': 'off', // errors are rejected as they were caught, `unknown`
      '@typescript-eslint/require-await': 'off', // an async function may be async for its contract
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      'no-empty': ['error', { allowEmptyCatch: false }],
      eqeqeq: ['error', 'always'],
    },
  },
  { files: ['packages/*/src/**'], rules: { 'no-console': 'error', 'no-process-exit': 'off' } },
  restrict(['packages/core/src/**'], [OUTER, SIDEWAYS], {
    ignores: ['packages/core/src/process/**', 'packages/core/src/mcp/**'],
  }),
  restrict(['packages/core/src/mcp/**'], [OUTER, SIDEWAYS], { mcpSdk: true }),
  restrict(['packages/core/src/process/**'], [OUTER, SIDEWAYS], { childProcess: true }),
  restrict(['packages/runtime/src/**'], [GATEWAY, SIDEWAYS]),
  restrict(['packages/gateway/src/**'], [SIDEWAYS]),
  restrict(['packages/gateway/src/engines/**'], [SIDEWAYS], { mcpSdk: true }),
  {
    files: ['bench/**', 'eval/**', 'examples/**', 'tools/**'],
    rules: { 'no-restricted-syntax': ['error', NO_SPREAD_OF_UNKNOWN_SIZE] },
  },
  { files: ['**/*.js', '**/*.mjs'], ...tseslint.configs.disableTypeChecked },
  {
    files: ['packages/*/test/**', 'packages/*/contract/**', 'bench/**', 'eval/**', 'examples/**'],
    rules: {
      '@typescript-eslint/only-throw-error': 'off', // tests throw what a tool might
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
