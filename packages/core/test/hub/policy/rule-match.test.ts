import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type Approval,
  type ApprovalRequest,
  type Logger,
  type PermissionClaim,
  type Policy,
  type PolicyRule,
} from '@toolwright/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteWords } from '../../../src/contract/shell-words.js';

const words = (pattern: string, more: Partial<PermissionClaim> = {}): PermissionClaim => ({
  pattern,
  match: 'tokens',
  understood: true,
  ...more,
});
const path = (pattern: string): PermissionClaim => ({ pattern, match: 'glob', understood: true });

/** Servers `bash` and `files`, each with a tool `run` that claims what it is told to. */
function hubWith(policy: Policy, logger?: Logger) {
  const run = defineTool({
    name: 'run',
    description: 'Claims what it is told to.',
    input: {
      type: 'object',
      properties: { claims: { type: 'array', items: { type: 'object' } } },
      required: ['claims'],
    },
    permission: ({ claims }) => claims as unknown as PermissionClaim[],
    execute: () => 'ran',
  });
  const servers = ['bash', 'files'].map((name) => defineServer({ name, version: '1', tools: [run] }));
  const hub = new ToolHub({
    providers: [new InProcessToolProvider({ servers })],
    policy,
    ...(logger && { logger }),
  });
  const outcome = async (...claims: PermissionClaim[]) =>
    (await hub.callTool('bash.run', { claims })).error?.code ?? 'ran';
  return { hub, outcome };
}

function collectWarnings() {
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) };
  return { logger, warnings };
}

const rule = (action: PolicyRule['action'], pattern?: string, tool = 'bash.*'): PolicyRule => ({
  tool,
  action,
  ...(pattern !== undefined && { pattern }),
});

describe('coversClaim() of a claim of words', () => {
  it.each<[string, PolicyRule[], string, string]>([
    ['matches the whole claim with allow', [rule('allow', 'git status')], 'git status', 'ran'],
    [
      'does not match words that follow with allow',
      [rule('allow', 'git status')],
      'git status -s',
      'APPROVAL_REQUIRED',
    ],
    ['matches words that follow with * in allow', [rule('allow', 'git log *')], 'git log --oneline -3', 'ran'],
    ['matches words with * in deny', [rule('deny', 'rm *'), rule('allow')], 'rm -rf build', 'PERMISSION_DENIED'],
    ['matches words that follow with deny', [rule('deny', 'touch'), rule('allow')], 'touch x', 'PERMISSION_DENIED'],
    [
      'matches words that follow with ask',
      [rule('ask', 'git push'), rule('allow')],
      'git push -f',
      'APPROVAL_REQUIRED',
    ],
    ['ignores quotes with deny', [rule('deny', 'rm x'), rule('allow')], '\'rm\' "x"', 'PERMISSION_DENIED'],
    ['treats a quoted star literally with allow', [rule('allow', "echo '*'")], 'echo a', 'APPROVAL_REQUIRED'],
    [
      'denies every claim of words when deny has an open quote',
      [rule('deny', "it's"), rule('allow')],
      'ls',
      'PERMISSION_DENIED',
    ],
    ['allows nothing when allow has an open quote', [rule('allow', "ls 'a")], "ls 'a", 'APPROVAL_REQUIRED'],
    ['takes a tool without a dot as a server', [rule('allow', 'ls', 'bash')], 'ls', 'ran'],
    ['denies every tool of a server', [rule('deny', undefined, 'bash'), rule('allow')], 'ls', 'PERMISSION_DENIED'],
  ])('%s', async (_what, rules, claim, expected) => {
    const { outcome } = hubWith({ rules, default: 'ask' });
    expect(await outcome(words(claim))).toBe(expected);
  });
});

describe('ApprovalRequest.suggestedRules', () => {
  const asking = (answer: (request: ApprovalRequest) => Approval) => {
    const requests: ApprovalRequest[] = [];
    const approve = (request: ApprovalRequest) => {
      requests.push(request);
      return answer(request);
    };
    return { ...hubWith({ rules: [], default: 'ask', approve }), requests };
  };

  it('covers exactly what was shown: rm -rf build never allows rm -rf build src', async () => {
    const { outcome, requests } = asking(() => ({ decision: 'always' }));
    await outcome(words('rm -rf build'));
    await outcome(words('rm -rf build'));
    expect(requests.length).toBe(1);
    await outcome(words('rm -rf build src'));
    expect(requests.length).toBe(2);
    expect(requests[0]?.suggestedRules).toEqual([{ tool: 'bash.run', pattern: 'rm -rf build', action: 'allow' }]);
  });

  it.each(['ls *', 'cat ~/x', 'echo "$HOME"', 'rm {a,b}', 'ls [ab]', "echo 'open"])(
    'is empty for %j, which as a pattern matches more than itself',
    async (claim) => {
      const { outcome, requests } = asking(() => ({ decision: 'always' }));
      await outcome(words(claim));
      await outcome(words(claim));
      expect(requests.map(({ suggestedRules }) => suggestedRules)).toEqual([[], []]);
    },
  );

  it('has wider rules beside it when a claim has a wider pattern', async () => {
    const { outcome, requests } = asking(({ wider }) => ({ decision: 'always', ...(wider && { rules: wider }) }));
    await outcome(words('git log -5', { widerPattern: 'git log *' }), path('a*'));
    expect(requests[0]?.wider).toEqual([
      { tool: 'bash.run', pattern: 'git log *', action: 'allow' },
      { tool: 'bash.run', pattern: 'a\\*', action: 'allow' },
    ]);
    expect(await outcome(words('git log --all'), path('a*'))).toBe('ran');
    expect(requests.length).toBe(1);
  });

  it('has no wider rules beside it when nothing is wider, or no rule is offered', async () => {
    const { outcome, requests } = asking(() => ({ decision: 'once' }));
    await outcome(words('git log'));
    await outcome(words('git log', { widerPattern: 'git *', suggestedPattern: null }));
    await outcome(words('git log', { widerPattern: 'git *', understood: false }));
    expect(requests.map((request) => 'wider' in request)).toEqual([false, false, false]);
  });
});

describe('PolicyRules.warnings() of a rule without effect', () => {
  it('warns when a pattern with an unclosed quote is compared with a command', async () => {
    const { logger, warnings } = collectWarnings();
    const { outcome } = hubWith({ rules: [rule('deny', "rm 'x")], default: 'allow' }, logger);
    expect(await outcome(path("rm 'x y"))).toBe('ran');
    expect(warnings).toEqual([]);
    await outcome(words('ls'));
    await outcome(words('ls'));
    expect(warnings).toEqual([expect.stringContaining("rm 'x") as string]);
  });

  it('warns, also in explain(), when the rule matches no listed tool', async () => {
    const { logger, warnings } = collectWarnings();
    const { hub } = hubWith(
      {
        rules: [rule('deny', 'rm', 'shell'), rule('deny', 'rm', 'bash.exec*'), rule('allow', 'ls', '*.run')],
        default: 'ask',
      },
      logger,
    );
    await hub.connect();
    expect(warnings).toEqual([
      expect.stringContaining('"shell"') as string,
      expect.stringContaining('"bash.exec*"') as string,
    ]);
    const { warnings: told } = await hub.explain('bash.run');
    expect(told).toEqual(warnings);
    await hub.disconnect();
  });

  it('does not warn while a provider that the rule may match is not listed', async () => {
    const { logger, warnings } = collectWarnings();
    const down = {
      ...new InProcessToolProvider({ servers: [] }),
      name: 'down',
      kind: 'mcp' as const,
      servers: ['later'],
      connect: () => Promise.reject(new Error('down')),
      listTools: () => Promise.reject(new Error('down')),
      callTool: () => Promise.reject(new Error('down')),
      disconnect: () => Promise.resolve(),
      onToolsChanged: () => () => undefined,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    await using hub = new ToolHub({
      providers: [down],
      logger,
      policy: {
        default: 'ask',
        rules: [rule('deny', 'x', 'later'), rule('deny', 'x', '*.y'), rule('deny', 'x', 'no')],
      },
    });
    await hub.connect();
    expect(warnings.filter((warning) => warning.includes('rule'))).toEqual([expect.stringContaining('"no"') as string]);
  });
});

describe('coversClaim() with random rules and claims', () => {
  const word = fc.oneof(
    fc.constantFrom('rm', 'git', 'a', 'a b', '*', '?', '$X', '~', "it's", '\\', '>', '"', '', '[a]', '{a,b}', '\u200b'),
    fc.string({ unit: 'binary', maxLength: 4 }),
  );
  const wordList = fc.array(word, { minLength: 1, maxLength: 4 });
  const fragments = fc.array(fc.constantFrom('rm', '*', 'a?', '>', '$X', '[a]', '~', ';', ' '), { maxLength: 4 });
  const wordClaim = fc.oneof(
    wordList.map(quoteWords),
    fragments.map((list) => list.join(' ')),
  );
  const pathClaim = fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.constantFrom('a', '*', 'a*', '\\', 'a?'));
  const pairs = fc.oneof(
    fc.tuple(
      wordClaim.map((text) => words(text)),
      wordClaim.map((text) => words(text)),
    ),
    fc
      .tuple(wordList, wordList)
      .map(([list, more]) => [words(quoteWords(list)), words(quoteWords([...list, ...more]))]),
    fc
      .tuple(wordList, wordList)
      .map(([list, more]) => [words(quoteWords([...list, ...more])), words(quoteWords(list))]),
    fc.tuple(pathClaim.map(path), pathClaim.map(path)),
  );

  it('never allows a claim that was not shown after "always"', async () => {
    await fc.assert(
      fc.asyncProperty(pairs, async ([shown, other]) => {
        fc.pre(shown !== undefined && other !== undefined && !isSameClaim(shown, other));
        const answers: Approval[] = [{ decision: 'always' }];
        const { hub, outcome } = hubWith({
          rules: [],
          default: 'ask',
          approve: () => answers.shift() ?? { decision: 'deny' },
        });
        expect(await outcome(shown)).toBe('ran');
        expect(await outcome(other)).toBe('PERMISSION_DENIED');
        await hub.disconnect();
      }),
      { numRuns: 500 },
    );
  });

  it('denies everything that a deny rule covers', async () => {
    const patternWord = fc.oneof(
      word.filter((text) => !/[*?]/.test(text)),
      fc.constant('*' as const),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(patternWord, { minLength: 1, maxLength: 3 }),
        wordList,
        fc.array(fc.constantFrom(rule('allow'), rule('ask'), rule('allow', '*'), rule('allow', 'git *')), {
          maxLength: 3,
        }),
        async (wanted, given, others) => {
          fc.pre(coversNaively(wanted, given));
          const pattern = wanted.map((each) => (each === '*' ? '*' : quoteWords([each]))).join(' ');
          const { hub, outcome } = hubWith({ rules: [...others, rule('deny', pattern)], default: 'allow' });
          expect(await outcome(words(quoteWords(given)))).toBe('PERMISSION_DENIED');
          await hub.disconnect();
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Whether the words of a pattern, `*` for any number of them, are the first words of a claim: by trying everything. */
function coversNaively(wanted: readonly string[], given: readonly string[]): boolean {
  const [first, ...rest] = wanted;
  if (first === undefined) return true;
  if (first === '*') return given.some((_, at) => coversNaively(rest, given.slice(at))) || coversNaively(rest, []);
  return given.length > 0 && given[0] === first && coversNaively(rest, given.slice(1));
}

/** The same text, or the same unquoted words with other blanks between them. */
function isSameClaim(one: PermissionClaim, other: PermissionClaim): boolean {
  if (one.pattern === other.pattern) return true;
  if (one.match === 'glob' || /['"\\]/.test(one.pattern + other.pattern)) return false;
  return one.pattern.trim().split(/ +/).join(' ') === other.pattern.trim().split(/ +/).join(' ');
}
