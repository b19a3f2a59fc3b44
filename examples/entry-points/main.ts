// The examples of the API reference, one file for each entry of the packages.

await import('./core.js');
await import('./servers.js');
await import('./servers-filesystem.js');
await import('./servers-bash.js');
await import('./servers-git.js');
await import('./servers-memory.js');
await import('./servers-diagnostics.js');
await import('./servers-agent.js');
await import('./process.js');
await import('./mcp.js');
await import('./openapi.js');
await import('./internal.js');
await import('./adapters.js');
await import('./adapters-openai.js');
await import('./adapters-anthropic.js');
await import('./adapters-gemini.js');
await import('./adapters-ai-sdk.js');
await import('./adapters-langchain.js');
await import('./testing.js');
await import('./runtime.js');
await import('./gateway.js');
await import('./gateway-config.js');
await import('./gateway-testing.js');
console.log('every entry of the packages does what its page shows');
