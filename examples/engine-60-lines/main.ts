// An agent engine without a framework and without a vendor's package: a loop over `fetch`. A local endpoint takes the part
// of the model, and refuses what the vendor would refuse.
/* eslint-disable no-restricted-syntax -- a turn has few messages */

import assert from 'node:assert/strict';
import { createTestProject } from '@toolwright/core/testing';
import { chatEndpoint } from '../engines/endpoints.js';

await using project = await createTestProject({ 'notes.md': 'The deploy runs on Fridays.\n' });
await using endpoint = await chatEndpoint();
const { projectDir } = project;
const { url } = endpoint;

// #region example
import { InProcessToolProvider, ToolHub, type ToolProvider } from '@toolwright/core';
import { openaiTools } from '@toolwright/core/adapters/openai';

interface Message {
  role: string;
  content?: unknown;
}

type Assistant = Message & { role: 'assistant' };

interface Api {
  url: string;
  key: string;
  model: string;
}

/** One conversation. Its id is the session of its calls: background jobs and the files that were read belong to it. */
class Engine {
  readonly #tools: ToolProvider;
  readonly #api: Api;
  readonly #messages: Message[];
  readonly #sessionId = crypto.randomUUID();

  constructor(tools: ToolProvider, api: Api, instructions: string) {
    this.#tools = tools;
    this.#api = api;
    this.#messages = [{ role: 'system', content: instructions }];
  }

  /** Answers a question, with as many turns as the model needs. */
  async ask(question: string, signal: AbortSignal, maxTurns = 30): Promise<string> {
    using kit = await openaiTools(this.#tools, { sessionId: this.#sessionId, signal });
    this.#messages.push({ role: 'user', content: question });
    for (let turns = 0; turns < maxTurns; turns++) {
      const said = await this.#say(kit.tools, signal);
      const turn = await kit.answer(said); // runs what the model calls, side by side; never rejects
      this.#messages.push(...turn.messages);
      if (turn.done) return String(said.content);
    }
    throw new Error(`The model was not done after ${maxTurns} turns.`);
  }

  async #say(tools: object[], signal: AbortSignal): Promise<Assistant> {
    const { url, key, model } = this.#api;
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages: this.#messages, tools }),
      signal,
    });
    if (!response.ok) throw new Error(`The API answered ${response.status}: ${await response.text()}`);
    const { choices } = (await response.json()) as { choices: [{ message: Assistant }] };
    return choices[0].message;
  }
}

await using hub = new ToolHub({ providers: [InProcessToolProvider.forProject(projectDir)] });
const engine = new Engine(hub, { url, key: 'none', model: 'any' }, 'You answer from the notes.');
console.log(await engine.ask('When does the deploy run?', AbortSignal.timeout(60_000))); // On Fridays.
// #endregion

assert.match(JSON.stringify(endpoint.requests[1]), /The deploy runs on Fridays/);
