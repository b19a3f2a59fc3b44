// npm run conformance: the protocol's own suite against a gateway in front of tools in this process. What the suite
// asks beyond tools is expected to fail, by name; a pass that is not expected fails the run too.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineServer, defineTool, InProcessToolProvider } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { createGateway } from '@toolwright/gateway';

const SUITE = fileURLToPath(
  new URL('peers/node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const BASELINE = fileURLToPath(new URL('conformance-baseline.yml', import.meta.url));
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const input = { type: 'object' } as const;
const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));
const resource = (uri: string, mimeType: string, text: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text } }) as const;

/** The tools that the suite calls, by the names that it calls them by. */
const fixture = defineServer({
  name: 'suite',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'test_simple_text',
      description: 'A text.',
      input,
      execute: () => 'This is a simple text response for testing.',
    }),
    defineTool({ name: 'test_image_content', description: 'An image.', input, execute: () => ({ content: [image] }) }),
    defineTool({
      name: 'test_audio_content',
      description: 'A sound.',
      input,
      execute: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
    }),
    defineTool({
      name: 'test_embedded_resource',
      description: 'A resource.',
      input,
      execute: () => ({
        content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
      }),
    }),
    defineTool({
      name: 'test_multiple_content_types',
      description: 'Three blocks.',
      input,
      execute: () => ({
        content: [
          { type: 'text', text: 'Multiple content types test:' },
          image,
          resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
        ],
      }),
    }),
    defineTool({
      name: 'test_tool_with_logging',
      description: 'Says three things.',
      input,
      execute: async (_, { logger }) => {
        logger.info('Tool execution started');
        await pause();
        logger.info('Tool processing data');
        await pause();
        logger.info('Tool execution completed');
        return 'done';
      },
    }),
    defineTool({
      name: 'test_error_handling',
      description: 'Fails.',
      input,
      execute: () => {
        throw new Error('This tool intentionally returns an error for testing');
      },
    }),
    defineTool({
      name: 'test_tool_with_progress',
      description: 'Comes on.',
      input,
      execute: async (_, ctx) => {
        for (const done of [0, 50, 100]) {
          ctx.progress({ progress: done, total: 100 });
          await pause();
        }
        return 'done';
      },
    }),
  ],
});

if (!existsSync(SUITE)) {
  console.log('skipped: the suite is not in tools/peers');
} else {
  const provider = new InProcessToolProvider({ servers: [fixture] });
  const gateway = createGateway(provider, { naming: (name) => name.slice('suite.'.length) });
  const { port } = await gateway.serveHttp({ auth: 'none' });
  const args = [
    SUITE,
    'server',
    '--url',
    `http://localhost:${port}/mcp`,
    '--suite',
    'active',
    '--expected-failures',
    BASELINE,
  ];
  const child = spawnChild({
    command: process.execPath,
    args,
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdin: 'ignore',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const { code } = await child.exited;
  await gateway.close();
  await provider.disconnect();
  console.log(code === 0 ? `${/^Total: .*$/m.exec(output)?.[0] ?? ''}, as expected` : output);
  process.exitCode = code ?? 1;
}
