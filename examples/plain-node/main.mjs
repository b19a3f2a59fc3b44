// What the READMEs of the packages show, run by Node alone against the built packages.

await import('./hub.mjs');
await import('./gateway.mjs');
await import('../provider-processes/host.mjs');
