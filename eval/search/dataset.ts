// The tools and queries in data/, and a hub that lists the tools.

import { readFile } from 'node:fs/promises';
import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';

/** A tool of a real server. */
export interface ListedTool {
  name: string;
  description: string;
  /** The names of its arguments. */
  args: string[];
}

/** What someone asks for, and the tool that is right. */
export interface LabelledQuery {
  query: string;
  tool: string;
}

export const loadTools = (): Promise<ListedTool[]> => readLines('tools');
export const loadQueries = (file: 'queries' | 'tuning'): Promise<LabelledQuery[]> => readLines(file);

async function readLines<Row>(file: string): Promise<Row[]> {
  const text = await readFile(new URL(`data/${file}.jsonl`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}

/** A hub with these tools, none of which does anything. */
export function hubOf(tools: readonly ListedTool[]): ToolHub {
  const byServer = new Map<string, ListedTool[]>();
  for (const tool of tools) {
    const server = tool.name.slice(0, tool.name.indexOf('.'));
    byServer.set(server, [...(byServer.get(server) ?? []), tool]);
  }
  const servers = [...byServer].map(([name, own]) =>
    defineServer({
      name,
      version: '1.0.0',
      tools: own.map((tool) =>
        defineTool({
          name: tool.name.slice(name.length + 1),
          description: tool.description,
          input: { type: 'object', properties: Object.fromEntries(tool.args.map((arg) => [arg, {}])) },
          execute: () => 'nothing',
        }),
      ),
    }),
  );
  return new ToolHub({ providers: [new InProcessToolProvider({ servers })] });
}
