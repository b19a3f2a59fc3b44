// Which temporary directories this process made, whoever asked for them: fs.mkdtemp is watched while somebody looks.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const watchers = new Set<Set<string>>();
let restore: (() => void) | undefined;

/** Collects the directories that `fs.mkdtemp`, in its three forms, makes from now on, until `stop`. */
export function watchTemporaryDirectories(): { made: ReadonlySet<string>; stop: () => void } {
  const made = new Set<string>();
  watchers.add(made);
  restore ??= patch();
  return {
    made,
    stop: () => {
      watchers.delete(made);
      if (watchers.size > 0) return;
      restore?.();
      restore = undefined;
    },
  };
}

function patch(): () => void {
  const { mkdtemp, mkdtempSync } = fs;
  const { mkdtemp: mkdtempPromise } = fs.promises;
  const saw = <T>(path: T): T => {
    if (typeof path === 'string') for (const watcher of watchers) watcher.add(path);
    return path;
  };
  type Callback = (error: Error | null, path: string) => void;
  const callbackForm = (...args: unknown[]): void => {
    const callback = args.pop() as Callback;
    (mkdtemp as (...all: unknown[]) => void)(...args, (error: Error | null, path: string) =>
      callback(error, saw(path)),
    );
  };
  Object.assign(fs, {
    mkdtemp: callbackForm,
    mkdtempSync: (...args: Parameters<typeof mkdtempSync>) => saw(mkdtempSync(...args)),
  });
  Object.assign(fs.promises, {
    mkdtemp: async (...args: Parameters<typeof mkdtempPromise>) => saw(await mkdtempPromise(...args)),
  });
  syncBuiltinESMExports(); // so that `import { mkdtemp }` sees it too
  return () => {
    Object.assign(fs, { mkdtemp, mkdtempSync });
    Object.assign(fs.promises, { mkdtemp: mkdtempPromise });
    syncBuiltinESMExports();
  };
}
