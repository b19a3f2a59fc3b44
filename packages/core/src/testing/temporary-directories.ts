// Records the temporary directories that any code of this process creates, by wrapping fs.mkdtemp.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const watchers = new Set<Set<string>>();
let restore: (() => void) | undefined;

/** Collects the directories that `fs.mkdtemp`, in its three forms, creates until `stop()`. */
export function watchTemporaryDirectories(): { created: ReadonlySet<string>; stop: () => void } {
  const created = new Set<string>();
  watchers.add(created);
  restore ??= patch();
  return {
    created,
    stop: () => {
      watchers.delete(created);
      if (watchers.size > 0) return;
      restore?.();
      restore = undefined;
    },
  };
}

function patch(): () => void {
  const { mkdtemp, mkdtempSync } = fs;
  const { mkdtemp: mkdtempPromise } = fs.promises;
  const record = <T>(path: T): T => {
    if (typeof path === 'string') for (const watcher of watchers) watcher.add(path);
    return path;
  };
  type Callback = (error: Error | null, path: string) => void;
  const callbackForm = (...args: unknown[]): void => {
    const callback = args.pop() as Callback;
    (mkdtemp as (...all: unknown[]) => void)(...args, (error: Error | null, path: string) =>
      callback(error, record(path)),
    );
  };
  Object.assign(fs, {
    mkdtemp: callbackForm,
    mkdtempSync: (...args: Parameters<typeof mkdtempSync>) => record(mkdtempSync(...args)),
  });
  Object.assign(fs.promises, {
    mkdtemp: async (...args: Parameters<typeof mkdtempPromise>) => record(await mkdtempPromise(...args)),
  });
  syncBuiltinESMExports(); // for `import { mkdtemp }`
  return () => {
    Object.assign(fs, { mkdtemp, mkdtempSync });
    Object.assign(fs.promises, { mkdtemp: mkdtempPromise });
    syncBuiltinESMExports();
  };
}
