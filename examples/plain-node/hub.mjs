// A hub without `await using`, which Node runs without a compiler from version 24 on.

import { InProcessToolProvider, textOf, ToolHub } from '@toolwright/core';

const hub = new ToolHub({ providers: [InProcessToolProvider.forProject(process.cwd())] });
try {
  const file = await hub.callTool('filesystem.read_file', { path: 'package.json' });
  console.log(file.error ? `${file.error.code}: ${file.error.message}` : textOf(file));
} finally {
  await hub.disconnect(); // settles every call and ends every process that the hub has started
}
