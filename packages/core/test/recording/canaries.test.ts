// Twenty secrets, each in every place that a recording has, appear in no recording.

import { readFile } from 'node:fs/promises';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolError,
  ToolHub,
  withRecording,
  type JsonObject,
  type ToolProvider,
} from '@toolwright/core';
import { createTestProject, record, ReplayToolProvider } from '@toolwright/core/testing';
import { expect, it } from 'vitest';

// Put together here, so that no scanner takes this file for a leak.
const canary = (number: number): string => `canary${String(number).padStart(2, '0')}aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1`;
/** Texts that contain one secret each, by its shape. */
const TEXTS: readonly ((secret: string) => string)[] = [
  (secret) => `authorization: Bearer ${secret}`,
  (secret) => `Basic ${secret}==`,
  (secret) => `eyJhbGciOiJI.${secret}.${secret}`,
  (secret) => `ghp_${secret}`,
  (secret) => `github_pat_${secret}`,
  (secret) => `glpat-${secret}`,
  (secret) => `sk-proj-${secret}`,
  (secret) => `sk_live_${secret}`,
  (secret) => `AIza${secret}`,
  (secret) => `xoxb-${secret}`,
  (secret) => `npm_${secret}`,
  (secret) => `-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----`,
  (secret) => `postgres://me:${secret}@db.test/x`,
  (secret) => `DB_PASSWORD=${secret} rest`,
  (secret) => `{"access_token": "${secret}"}`,
  (secret) => `curl --api-key ${secret} https://a.test`,
];
/** Keys whose values are secrets, whatever they look like. */
const KEYS = ['password', 'X-Api-Key', 'clientSecret', 'authorization'];
const texts = TEXTS.map((text, index) => text(canary(index)));
const byName = Object.fromEntries(KEYS.map((key, index) => [key, canary(TEXTS.length + index)]));
const secrets = [...TEXTS, ...KEYS].map((_, index) => canary(index));
const everything = { texts, nested: [{ ...byName, deep: byName }], [texts[3]!]: 'as a key' };

const leaky = defineTool({
  name: 'leak',
  description: `Leaks: ${texts.join(' ')}`,
  input: { type: 'object', additionalProperties: true },
  permission: () => texts.map((pattern) => ({ pattern, match: 'glob' as const, understood: true, reason: pattern })),
  execute: (args, ctx) => {
    for (const [index, message] of texts.entries()) ctx.progress({ progress: index, message });
    if ('fail' in args) throw new ToolError('UNAVAILABLE', texts.join(' '), { details: everything });
    return {
      content: [
        ...texts.map((text) => ({ type: 'text' as const, text, _meta: byName, annotations: everything })),
        { type: 'resource' as const, resource: { uri: texts[12]!, text: texts.join('\n') } },
        { type: 'resource_link' as const, uri: texts[12]!, name: texts[0]!, description: texts.join(' ') },
        { type: 'image' as const, data: 'AAAA', mimeType: 'image/png', _meta: everything },
      ],
      structuredContent: everything,
      directives: [{ type: 'inject_context' as const, params: { content: texts.join(' ') } }],
      _meta: everything,
    };
  },
});

const leakyProvider = (): ToolProvider =>
  new InProcessToolProvider({ servers: [defineServer({ name: 'leaky', version: '1', tools: [leaky] })] });

const secretsIn = (text: string): string[] => secrets.filter((secret) => text.includes(secret));

async function callEverything(provider: ToolProvider): Promise<void> {
  expect(secrets).toHaveLength(20);
  for (const args of [everything, { ...everything, fail: true }] as JsonObject[])
    await provider.callTool('leaky.leak', args);
  await provider.callTool(`leaky.${texts[3]}`, everything);
  await provider.callTool('leaky.leak', texts as never); // refused when it is prepared
}

it('record() writes none of 20 secrets', async () => {
  await using project = await createTestProject();
  const file = project.resolve('calls.ndjson');
  const provider = record(leakyProvider(), file);
  const hub = new ToolHub({ providers: [provider] });
  await callEverything(hub);
  await callEverything(provider);
  await hub.disconnect();
  const recording = await readFile(file, 'utf8');
  expect(secretsIn(recording)).toEqual([]);
  expect(recording.split('[hidden]').length).toBeGreaterThan(200);
});

it('withRecording() writes none of 20 secrets', async () => {
  let recording = '';
  const middleware = withRecording({ write: (lines) => (recording += lines) });
  await using hub = new ToolHub({ providers: [leakyProvider()], middleware: [middleware] });
  middleware.recordTools(await hub.listTools());
  await callEverything(hub);
  await middleware.flush();
  expect(secretsIn(recording)).toEqual([]);
  expect(recording.split('[hidden]').length).toBeGreaterThan(100);
});

it('ReplayToolProvider shows none of 20 secrets of a call that was not recorded, and answers the recorded one', async () => {
  await using project = await createTestProject();
  const file = project.resolve('calls.ndjson');
  await using provider = record(leakyProvider(), file);
  await provider.callTool('leaky.leak', everything);
  await provider.flush();
  const replay = new ReplayToolProvider(file);
  const unexpected = JSON.stringify(await replay.callTool('leaky.leak', { ...everything, more: texts, ...byName }));
  expect(unexpected).toContain('NO_MATCH');
  expect(secretsIn(unexpected)).toEqual([]);
  expect((await replay.callTool('leaky.leak', everything)).isError).toBe(false);
});
