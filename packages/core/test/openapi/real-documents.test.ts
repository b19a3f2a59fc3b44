// Two public documents, GitHub's and the Petstore's, against a local server that implements some of their operations and
// records what comes over the wire.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { textOf, ToolHub, type JsonObject } from '@toolwright/core';
import { aliasOf } from '@toolwright/core/adapters';
import { OpenApiToolProvider } from '@toolwright/core/openapi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolDefinition } from '../../src/index.js';
import { readListedSchema } from '../../src/tool/listed-schema-validator.js';
import { keepingLogger, serve, SILENT, type Answer, type TestServer } from './serve.js';

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}.json`, import.meta.url));

/** What every vendor and every pin needs of a listing. */
function expectUsable(tools: readonly ToolDefinition[]): void {
  expect(new Set(tools.map(({ name }) => aliasOf(name))).size).toBe(tools.length);
  for (const { name, inputSchema, outputSchema, description } of tools) {
    expect(name).toMatch(/^\w+\.[A-Za-z0-9_-]{1,64}$/);
    expect(description).not.toBe('');
    for (const key of Object.keys(inputSchema.properties as JsonObject)) expect(key).toMatch(/^[\w.-]{1,64}$/);
    for (const schema of outputSchema ? [inputSchema, outputSchema] : [inputSchema]) {
      expect(schema.type).toBe('object');
      expect(() => readListedSchema(schema)).not.toThrow();
    }
  }
}

describe("GitHub's document", () => {
  const label = {
    id: 1,
    node_id: 'x',
    url: 'https://x',
    name: 'bug',
    description: null,
    color: 'f29513',
    default: true,
  };
  const answer: Answer = ({ method, url, body }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    if (pathname === '/zen')
      return void response.setHeader('content-type', 'text/plain').end('Keep it logically awesome.');
    if (pathname === '/repos/o/r/labels' && method === 'GET') return [label];
    if (pathname === '/repos/o/r/labels') return { ...label, ...(JSON.parse(body.toString()) as object) };
    if (pathname === '/markdown/raw')
      return void response.setHeader('content-type', 'text/html').end(`<p>${body.toString()}</p>`);
    if (pathname.endsWith('/tarball/main'))
      return void response.writeHead(302, { location: 'https://codeload.example/x' }).end();
    if (pathname.startsWith('/user/starred/')) return void response.writeHead(204).end();
    response.statusCode = 404;
    return { message: 'Not Found', documentation_url: 'https://docs.example' };
  };
  let api: TestServer;
  let github: OpenApiToolProvider;
  const { messages, logger } = keepingLogger();
  beforeAll(async () => {
    api = await serve(answer);
    github = new OpenApiToolProvider({
      name: 'github',
      document: fixture('github'),
      server: api.origin,
      auth: () => ({ headers: { authorization: 'Bearer t0ken-of-a-test' } }),
      logger,
    });
  });
  afterAll(async () => {
    await github.disconnect();
    await api.close();
  });
  const call = (name: string, args: JsonObject = {}) => github.callTool(`github.${name}`, args);

  it('becomes usable tools, without the operation of another origin', async () => {
    const tools = await github.listTools();
    expect(tools.length).toBe(28);
    expectUsable(tools);
    expect(messages.join()).toMatch(/its own server is https:\/\/uploads\.github\.com/);
    const create = tools.find(({ name }) => name === 'github.issues_create');
    expect(create?.inputSchema.required).toEqual(['owner', 'repo', 'title']);
  });

  it('gives structured results that match its schemas', async () => {
    const listed = await call('issues_list-labels-for-repo', { owner: 'o', repo: 'r', per_page: '5' });
    expect(listed.structuredContent).toEqual({ result: [label] });
    expect(api.last).toMatchObject({ method: 'GET', url: '/repos/o/r/labels?per_page=5' });
    expect(api.last.headers).toMatchObject({ authorization: 'Bearer t0ken-of-a-test', 'user-agent': 'toolwright' });
    const created = await call('issues_create-label', { owner: 'o', repo: 'r', name: 'new', color: 'ffffff' });
    expect(created.structuredContent).toMatchObject({ name: 'new', color: 'ffffff' });
    expect(JSON.parse(api.last.body.toString())).toEqual({ name: 'new', color: 'ffffff' });
    expect(messages.join()).not.toMatch(/does not match/);
  });

  it('sends a path as one segment, and a body with DELETE', async () => {
    await call('repos_delete-file', { owner: 'o', repo: 'r', path: 'docs/a b.md', message: 'm', sha: 's' });
    expect(api.last).toMatchObject({ method: 'DELETE', url: '/repos/o/r/contents/docs%2Fa%20b.md' });
    expect(JSON.parse(api.last.body.toString())).toEqual({ message: 'm', sha: 's' });
    const count = api.received.length;
    const { error } = await call('repos_delete', { owner: 'o', repo: '../../user' });
    expect(error?.code).toBe('INVALID_ARGUMENT');
    expect(api.received.length).toBe(count);
  });

  it('returns texts, empty responses, errors and refused redirects', async () => {
    expect(textOf(await call('meta_get-zen'))).toBe('Keep it logically awesome.');
    expect(textOf(await call('markdown_render-raw', { body: '*x*' }))).toBe('<p>*x*</p>');
    expect(api.last.headers['content-type']).toBe('text/plain; charset=utf-8');
    const star = { owner: 'o', repo: 'r' };
    expect(textOf(await call('activity_star-repo-for-authenticated-user', star))).toBe('204 No Content');
    expect(textOf(await call('gists_get', { gist_id: 'none' }))).toMatch(
      /responded with 404 Not Found: \{"message":"Not Found"/,
    );
    const tarball = await call('repos_download-tarball-archive', { ...star, ref: 'main' });
    expect(textOf(tarball)).toMatch(/302 Found\. Redirects are not followed/);
  });
});

describe("the Petstore's document", () => {
  let api: TestServer;
  let hub: ToolHub;
  beforeAll(async () => {
    api = await serve(({ method, url }) => (method === 'GET' && url.startsWith('/v2/pet/findBy') ? [] : { ok: true }));
    const document = JSON.parse(await readFile(fixture('petstore'), 'utf8')) as JsonObject;
    const auth = () => ({ headers: { api_key: 'special-key' } });
    const pets = new OpenApiToolProvider({ name: 'pets', document, server: `${api.origin}/v2`, auth, logger: SILENT });
    hub = new ToolHub({
      providers: [pets],
      policy: {
        default: 'deny',
        rules: [
          { tool: 'pets.*', pattern: '* /pet *', action: 'allow' },
          { tool: 'pets.*', pattern: '* /pet/*', action: 'allow' },
          { tool: 'pets.*', pattern: 'PUT /user/*', action: 'allow' },
          { tool: 'pets.*', pattern: 'DELETE *', action: 'deny' },
        ],
      },
      logger: SILENT,
    });
    await hub.connect();
  });
  afterAll(async () => {
    await hub.disconnect();
    await api.close();
  });

  it('becomes usable tools, in which no argument is a credential', async () => {
    const tools = await hub.listTools();
    expect(tools.length).toBe(20);
    expectUsable(tools);
    const remove = tools.find(({ name }) => name === 'pets.deletePet');
    expect(Object.keys(remove?.inputSchema.properties as JsonObject)).toEqual(['petId']);
  });

  it('sends each kind of body', async () => {
    await hub.callTool('pets.addPet', { name: 'Rex', photoUrls: [], tags: [{ id: 1, name: 't' }] });
    expect(api.last).toMatchObject({ method: 'POST', url: '/v2/pet', headers: { api_key: 'special-key' } });
    expect(JSON.parse(api.last.body.toString())).toEqual({ name: 'Rex', photoUrls: [], tags: [{ id: 1, name: 't' }] });
    await hub.callTool('pets.updatePetWithForm', { petId: 7, name: 'Rex & Max' });
    expect(api.last).toMatchObject({ url: '/v2/pet/7' });
    expect(api.last.body.toString()).toBe('name=Rex+%26+Max');
    await hub.callTool('pets.uploadFile', { petId: 7, body: 'aGVsbG8=' });
    expect(api.last).toMatchObject({
      url: '/v2/pet/7/uploadImage',
      headers: { 'content-type': 'application/octet-stream' },
    });
    expect(api.last.body.toString()).toBe('hello');
  });

  it('sends lists in the query, and both of two arguments of one name', async () => {
    await hub.callTool('pets.findPetsByStatus', { status: ['available', 'sold'] });
    expect(api.last.url).toBe('/v2/pet/findByStatus?status=available&status=sold');
    await hub.callTool('pets.updateUser', { username: 'old name', body_username: 'new' });
    expect(api.last.url).toBe('/v2/user/old%20name');
    expect(JSON.parse(api.last.body.toString())).toEqual({ username: 'new' });
  });

  it('is subject to a policy of methods and paths', async () => {
    const count = api.received.length;
    expect((await hub.callTool('pets.deletePet', { petId: 7 })).error?.code).toBe('PERMISSION_DENIED');
    expect((await hub.callTool('pets.getInventory')).error?.code).toBe('PERMISSION_DENIED');
    expect(api.received.length).toBe(count);
  });
});
