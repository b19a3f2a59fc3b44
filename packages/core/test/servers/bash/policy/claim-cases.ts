// Tests of the tables of commands: a case a line, and a case for every command of a table.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAnalyzedProject, createAnalyzerHub, type AnalyzerHub } from './analyzed-project.js';

/** A command and its claims: `?` precedes what is not understood, `<outside>` is the directory that links lead to. */
export type ClaimCase = readonly [command: string, claims: readonly string[]];

/** Checks every case. @param names the names in a table, each of which must have a case */
export function testClaims(cases: readonly ClaimCase[], names: readonly string[] = [], prefix = ''): void {
  describe('analyzeCommand()', () => {
    let project: Awaited<ReturnType<typeof createAnalyzedProject>>;
    let hub: AnalyzerHub;
    beforeAll(async () => {
      project = await createAnalyzedProject();
      hub = createAnalyzerHub(project.projectDir, []);
    });
    afterAll(() => project[Symbol.asyncDispose]());

    it.each(cases)('claims %s as %j', async (command, expected) => {
      const claims = (await hub.claims(command)).map(({ pattern, understood }) =>
        (understood ? pattern : `? ${pattern}`).replaceAll(project.outside, '<outside>'),
      );
      expect(claims).toEqual(expected);
    });

    it.runIf(names.length > 0)('has a case for every name in the table', () => {
      const untested = names
        .flatMap((each) => each.split(' '))
        .map((name) => prefix + name)
        .filter((name) => !cases.some(([command]) => command === name || command.startsWith(`${name} `)));
      expect(untested).toEqual([]);
    });
  });
}
