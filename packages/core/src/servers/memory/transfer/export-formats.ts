// Export formats: one JSON object per line, Markdown, or the file format of earlier memory servers. Vectors are not exported.

import type { MemoryRecord, MemoryScope } from '../memory-backend.js';
import type { ScopedStore } from '../service/scoped-store.js';

/** `'memories.json'` is the file format of earlier memory servers. */
export type ExportFormat = 'jsonl' | 'markdown' | 'memories.json';

/** Yields the text in pieces. */
export async function* exportLines(
  format: ExportFormat,
  stores: readonly ScopedStore[],
  projectDir: string,
): AsyncGenerator<{ line: string; isMemory: boolean }, void> {
  if (format === 'markdown') yield { line: '# Memories\n', isMemory: false };
  let isFirst = true;
  for (const { scope, backend } of stores) {
    for await (const memory of backend.all()) {
      if (format === 'jsonl') yield { line: `${JSON.stringify(plainOf(memory, scope))}\n`, isMemory: true };
      else if (format === 'markdown') yield { line: markdownOf(memory, scope), isMemory: true };
      else yield { line: `${isFirst ? '[\n' : ',\n'}${legacyOf(memory, scope, projectDir)}`, isMemory: true };
      isFirst = false;
    }
  }
  if (format === 'memories.json') yield { line: isFirst ? '[]\n' : '\n]\n', isMemory: false };
}

/** A line of JSONL, which the tool `import` reads. */
function plainOf(memory: MemoryRecord, scope: MemoryScope) {
  const { id, content, category, tags, importance, documentationPath, key, project, createdMs, updatedMs, rev } =
    memory;
  return {
    id,
    content,
    category,
    tags,
    scope,
    importance,
    ...(documentationPath !== null && { documentation_path: documentationPath }),
    ...(key !== null && { key }),
    ...(project !== null && { project }),
    created: new Date(createdMs).toISOString(),
    updated: new Date(updatedMs).toISOString(),
    rev,
  };
}

function legacyOf(memory: MemoryRecord, scope: MemoryScope, projectDir: string): string {
  const { id, content, category, tags, importance, documentationPath, project, createdMs } = memory;
  const record = {
    id,
    content,
    category,
    tags,
    scope,
    ...(scope === 'project' && { project_name: project, project_path: projectDir }),
    importance,
    timestamp: new Date(createdMs).toISOString(),
    documentation_path: documentationPath,
  };
  // Split at line feeds only: `^` also matches after U+2028 and U+2029, which JSON does not escape in texts.
  return JSON.stringify(record, undefined, 2)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

function markdownOf(memory: MemoryRecord, scope: MemoryScope): string {
  const { id, content, category, tags, importance, createdMs, documentationPath } = memory;
  const facts = [
    `category ${category}`,
    `importance ${importance}`,
    scope,
    ...(tags.length > 0 ? [`tags ${tags.join(', ')}`] : []),
    ...(documentationPath === null ? [] : [`see ${documentationPath}`]),
  ];
  const quoted = content.replace(/^/gm, '> ');
  return `\n## ${new Date(createdMs).toISOString().slice(0, 10)} ${id}\n\n${facts.join(' · ')}\n\n${quoted}\n`;
}
