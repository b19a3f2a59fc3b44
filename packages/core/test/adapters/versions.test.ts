// The kits with the oldest and the newest versions of each vendor's package. Those that the workspace does not use are
// installed with tools/peers; without them, or with a release of Node that a version does not support, a test is skipped.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type * as AnthropicSdk from '@anthropic-ai/sdk';
import type * as GoogleSdk from '@google/genai';
import type * as LangChainMessages from '@langchain/core/messages';
import type * as LangChainTools from '@langchain/core/tools';
import type * as Ai from 'ai';
import type * as AiTest from 'ai/test';
import type * as OpenaiSdk from 'openai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { allKinds, askingHub } from './fixtures/all-kinds.js';
import * as loops from './fixtures/loops.js';

const PEERS = fileURLToPath(new URL('../../../../tools/peers/', import.meta.url));

/** Imports a package of tools/peers. */
async function load<Module>(specifier: string): Promise<Module> {
  const loader = (await import(/* @vite-ignore */ `${PEERS}load.mjs`)) as {
    load: (specifier: string) => Promise<Module>;
  };
  return loader.load(specifier);
}

/** The version of a package in tools/peers, and why it cannot be tested. */
function peer(name: string): { version: string; skipped: string } {
  const file = `${PEERS}node_modules/${name}/package.json`;
  if (!existsSync(file)) return { version: name, skipped: `${name} is not in tools/peers` };
  const { version, engines } = JSON.parse(readFileSync(file, 'utf8')) as {
    version: string;
    engines?: { node?: string };
  };
  const least = Number(/>=\s*(\d+)/.exec(engines?.node ?? '')?.[1] ?? 0);
  const isOld = Number(process.versions.node.split('.')[0]) < least;
  return { version, skipped: isOld ? `it needs Node ${least}` : '' };
}

/** A test with one version of a package. */
function itRuns(name: string, run: () => Promise<void>): void {
  const { version, skipped } = peer(name);
  if (skipped !== '') console.warn(`The test with ${name} is skipped: ${skipped}.`);
  it.skipIf(skipped !== '')(`runs with ${name} ${version}`, run);
}

async function withTools(run: (made: Awaited<ReturnType<typeof allKinds>>) => Promise<void>): Promise<void> {
  const made = await allKinds();
  try {
    await run(made);
  } finally {
    await made.hub.disconnect();
    await made.project[Symbol.asyncDispose]();
  }
}

afterEach(() => {
  vi.doUnmock('ai');
  vi.doUnmock('@langchain/core/tools');
  vi.doUnmock('@langchain/core/messages');
  vi.resetModules();
});

describe('openaiTools()', () => {
  for (const name of ['openai-oldest', 'openai7'])
    itRuns(name, async () => {
      const { OpenAI } = await load<typeof OpenaiSdk>(name);
      await withTools(async ({ hub, received }) => {
        await loops.chatLoop(OpenAI, hub);
        await loops.responsesLoop(OpenAI, hub);
        expect(received).toEqual([loops.RESTORED, loops.RESTORED]);
      });
    });
});

describe('anthropicTools()', () => {
  itRuns('anthropic-oldest', async () => {
    const { Anthropic } = await load<typeof AnthropicSdk>('anthropic-oldest');
    await withTools(async ({ hub }) => loops.messagesLoop(Anthropic, hub));
  });
});

describe('geminiTools()', () => {
  for (const name of ['genai-oldest', 'genai3'])
    itRuns(name, async () => {
      const { GoogleGenAI } = await load<typeof GoogleSdk>(name);
      await withTools(async ({ hub }) => loops.contentLoop(GoogleGenAI, hub));
    });
});

describe('aiSdkTools()', () => {
  for (const name of ['ai-oldest', 'ai7'])
    itRuns(name, async () => {
      const module = await load<typeof Ai>(name);
      const test = await load<typeof AiTest & { MockLanguageModelV4?: never }>(`${name}/test`);
      vi.resetModules();
      vi.doMock('ai', () => module);
      const { aiSdkTools } = await import('@toolwright/core/adapters/ai-sdk');
      const { generateText, stepCountIs } = module;
      const MockModel = test.MockLanguageModelV4 ?? test.MockLanguageModelV3;
      const sdk: loops.AiSdk = { generateText, stepCountIs, MockModel, aiSdkTools };
      await withTools(async ({ hub }) => loops.aiSdkLoop(sdk, hub));
      const { hub, ran } = askingHub();
      await loops.aiSdkApproval(sdk, hub, ran);
      await hub.disconnect();
    });
});

describe('langchainTools()', () => {
  const name = 'langchain-core-oldest';
  itRuns(name, async () => {
    const messages = await load<typeof LangChainMessages>(`${name}/messages`);
    const tools = await load<typeof LangChainTools>(`${name}/tools`);
    vi.resetModules();
    vi.doMock('@langchain/core/tools', () => tools);
    vi.doMock('@langchain/core/messages', () => messages);
    const { langchainTools } = await import('@toolwright/core/adapters/langchain');
    await withTools(async ({ hub, received }) =>
      loops.langchainLoop({ AIMessage: messages.AIMessage, langchainTools }, hub, received),
    );
  });
});
