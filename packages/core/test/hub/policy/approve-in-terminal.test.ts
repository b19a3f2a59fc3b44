import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { approveInTerminal, type ApprovalRequest } from '../../../src/index.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const HAS_PYTHON = spawnSync('python3', ['-c', 'import pty'], { stdio: 'ignore' }).status === 0;
if (!HAS_PYTHON) console.log('skipped: the terminal tests need python3 with its pty module');

const request = (more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  tool: 'bash.execute',
  claims: [{ pattern: 'git push', match: 'tokens', understood: true }],
  args: { command: 'git push' },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  reason: 'the default is "ask"',
  suggestedRules: [{ tool: 'bash.execute', pattern: 'git push', action: 'allow' }],
  wider: [{ tool: 'bash.execute', pattern: 'git push *', action: 'allow' }],
  ...more,
});

/** Asks the requests at once on a terminal of its own, types the answers, and gives the approvals and what was shown. */
function onTerminal(
  requests: readonly ApprovalRequest[],
  steps: readonly (readonly [shown: string, typed: string])[],
  { abortAfterMs, waitsForInterrupt }: { abortAfterMs?: number; waitsForInterrupt?: boolean } = {},
): { approvals: unknown[]; shown: string } {
  const script = `
    import { approveInTerminal } from ${JSON.stringify(`${HERE}../../../src/hub/policy/approve-in-terminal.ts`)};
    const interrupted = new Promise((resolve) => process.once('SIGINT', resolve));
    const approve = approveInTerminal();
    const signal = ${abortAfterMs === undefined ? 'new AbortController().signal' : `AbortSignal.timeout(${abortAfterMs})`};
    const requests = ${JSON.stringify(requests)};
    const settled = await Promise.all(requests.map((each) => approve(each, { signal }).catch((error) => ({ failed: error.code ?? error.name }))));
    ${waitsForInterrupt ? 'const alive = setInterval(() => undefined, 1_000); await interrupted; clearInterval(alive);' : ''}
    console.log('ANSWERS' + JSON.stringify(settled) + 'END');
  `;
  const { stdout, status } = spawnSync(
    'python3',
    [
      `${HERE}../../terminal.py`,
      JSON.stringify(steps),
      process.execPath,
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      script,
    ],
    { encoding: 'utf8', cwd: HERE, timeout: 30_000 },
  );
  const shown = stdout.replaceAll('\r\n', '\n');
  const found = /ANSWERS(.*)END/s.exec(shown);
  if (status !== 0 || !found) throw new Error(`The program ended with ${status} and showed:\n${shown}`);
  return { approvals: JSON.parse(found[1] as string) as unknown[], shown };
}

describe('approveInTerminal()', () => {
  it('denies with a reason without a terminal', async () => {
    const input = Object.assign(Object.create(process.stdin) as NodeJS.ReadStream, { isTTY: false });
    const approval = await approveInTerminal({ input })(request(), { signal: new AbortController().signal });
    expect(approval).toEqual({ decision: 'deny', message: expect.stringContaining('not a terminal') as string });
  });

  it.runIf(HAS_PYTHON)('keeps the text of a call on its line despite line breaks and hidden characters in it', () => {
    const forged = 'notes\n\n(answered: no)\n\nfilesystem.read_file wants to run: it reads\n  - README.md';
    const { shown } = onTerminal(
      [
        request({
          tool: 'a\nb',
          reason: 'because\n  a adds the rule {}',
          claims: [
            { pattern: forged, match: 'glob', understood: true, reason: 'x\ny' },
            { pattern: 'rm \u3164', match: 'glob', understood: true },
          ],
          args: { path: forged, other: '\u3164\u2800\u202e' },
        }),
      ],
      [['Allow it?', 'n\r']],
    );
    expect(shown).not.toMatch(/^(?:\(answered|filesystem|b wants|y\)|\s+a adds the rule \{\})/m);
    expect(shown).toContain('notes\\n\\n(answered: no)');
    expect(shown).not.toMatch(/[\u3164\u2800\u202e]/);
  });

  it.runIf(HAS_PYTHON)('does not offer "always" when claims were shortened', () => {
    const long = { pattern: 'x'.repeat(30_000), match: 'glob', understood: true } as const;
    const many = Array.from({ length: 200 }, (_, index) => ({ ...long, pattern: `f${index}` }));
    const { approvals, shown } = onTerminal(
      [request({ claims: [long] }), request({ claims: many })],
      [
        ['Allow it?', 'y\r'],
        ['Allow it?', 'y\r'],
      ],
    );
    expect(approvals).toEqual([{ decision: 'once' }, { decision: 'once' }]);
    expect(shown).toContain('more characters)');
    expect(shown).toContain('… and 170 more');
    expect(shown).not.toContain('[a] always');
  });

  it.runIf(HAS_PYTHON)('accepts once, always, wider, no and no with a reason; the end of input denies', () => {
    const typed = ['y\r', 'a\r', 'w\r', 'n\r', 'n use a branch\r', '\x04'];
    const { approvals, shown } = onTerminal(
      typed.map(() => request()),
      typed.map((each) => ['Allow it?', each] as const),
    );
    expect(approvals).toEqual([
      { decision: 'once' },
      { decision: 'always', rules: request().suggestedRules },
      { decision: 'always', rules: request().wider },
      { decision: 'deny' },
      { decision: 'deny', message: 'use a branch' },
      { decision: 'deny', message: 'The question was closed without an answer.' },
    ]);
    expect(shown).toContain('git push *');
  });

  it.runIf(HAS_PYTHON)('asks again until the answer is one of the choices', () => {
    const { approvals } = onTerminal(
      [request({ suggestedRules: [], wider: [] })],
      [
        ['Allow it?', '\r'],
        ['Please answer', 'a\r'],
        ['Please answer', 'yes\r'],
      ],
    );
    expect(approvals).toEqual([{ decision: 'once' }]);
  });

  it.runIf(HAS_PYTHON)('asks one question at a time, and ignores input typed before a question', () => {
    const { approvals } = onTerminal(
      [request(), request({ tool: 'second.tool' })],
      [
        ['Allow it?', 'y\ry\r'],
        ['second.tool wants', ''],
        ['Allow it?', 'n\r'],
      ],
    );
    expect(approvals).toEqual([{ decision: 'once' }, { decision: 'deny' }]);
  });

  it.runIf(HAS_PYTHON)('escapes hidden characters, and offers no rule for shortened text', () => {
    const args = { command: `git push \u001b[2J\u202e${'x'.repeat(5_000)}; rm -rf ~` };
    const { approvals, shown } = onTerminal(
      [request({ args })],
      [
        ['Allow it?', 'a\r'],
        ['Please answer', 'n\r'],
      ],
    );
    expect(approvals).toEqual([{ decision: 'deny' }]);
    expect(shown).toContain('\\u202e');
    expect(shown).not.toContain('\u202e');
    expect(shown).toContain('more characters');
  });

  it.runIf(HAS_PYTHON)('stops asking when the call ends', () => {
    expect(onTerminal([request(), request()], [], { abortAfterMs: 300 }).approvals).toEqual([
      { failed: 'CANCELLED' },
      { failed: 'CANCELLED' },
    ]);
  });

  it.runIf(HAS_PYTHON)('denies on Ctrl-C and passes it to the process', () => {
    const { approvals } = onTerminal([request()], [['Allow it?', '\x03']], { waitsForInterrupt: true });
    expect(approvals).toEqual([{ decision: 'deny', message: 'The question was closed without an answer.' }]);
  });
});
