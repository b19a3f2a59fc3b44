// Wrong options of this package's functions: refused when they are made, with the option that was meant.

import { InProcessToolProvider, ToolError } from '@toolwright/core';
import {
  ProcessToolProvider,
  providerFromModule,
  ProviderListener,
  supervise,
  superviseProcess,
} from '@toolwright/runtime';
import { createProvider } from '@toolwright/runtime/provider';
import { describe, expect, it } from 'vitest';

const inProcess = (): InProcessToolProvider => new InProcessToolProvider({ servers: [] });
const authored = { name: 'p', version: '1', description: '', tools: [] };

async function faultOf(make: () => unknown): Promise<string> {
  try {
    await make();
  } catch (error) {
    expect(ToolError.isInstance(error) && error.code, String(error)).toBe('INVALID_ARGUMENT');
    return (error as Error).message;
  }
  throw new Error('It was accepted.');
}

describe('assertOptions() of the runtime', () => {
  it.each<[string, () => unknown, string]>([
    ['ProcessToolProvider', () => new ProcessToolProvider({ name: 'p', file: '/x' } as never), 'unknown option `file`'],
    [
      'ProcessToolProvider, timeout',
      () => new ProcessToolProvider({ name: 'p', path: '/x', startTimeout: 1 } as never),
      '`startTimeoutMs`',
    ],
    ...(['env', 'variables'] as const).flatMap((option) =>
      [['a'], new Map([['A', 'b']]), new Headers({ a: 'b' }), 'A=b', null].map(
        (value): [string, () => unknown, string] => [
          `ProcessToolProvider, ${option}: ${Object.prototype.toString.call(value)}`,
          () => new ProcessToolProvider({ name: 'p', path: '/x', [option]: value }),
          `${option} must be an object of strings`,
        ],
      ),
    ),
    ['a path for options', () => new ProcessToolProvider('/x' as never), 'an object of options, not text'],
    ['supervise', () => supervise(inProcess, { idleTtl: 5 } as never), 'did you mean `idleTtlMs`?'],
    [
      'supervise, idleTtlMs',
      () => supervise(inProcess, { idleTtlMs: null as never }),
      'idleTtlMs must be a number from 0, not null',
    ],
    ['supervise, backoff', () => supervise(inProcess, { backoff: 5 as never }), 'an object as `backoff`, not 5'],
    ['supervise, backoff.base', () => supervise(inProcess, { backoff: { base: 5 } as never }), '`backoff.baseMs`'],
    [
      'supervise, trust',
      () => supervise(inProcess, { trustAnnotations: 'no' as never }),
      'trustAnnotations must be true or false',
    ],
    ['supervise, a provider', () => supervise(inProcess() as never), 'a function that creates the provider'],
    [
      'superviseProcess',
      () => superviseProcess({ name: 'p', path: '/x', wach: true } as never),
      'did you mean `watch`?',
    ],
    ['superviseProcess, none', () => superviseProcess(undefined as never), 'an object of options, not undefined'],
    [
      'providerFromModule',
      () => providerFromModule(createProvider(authored), { variable: {} } as never),
      '`variables`',
    ],
    ['createProvider', () => createProvider({ ...authored, init: () => 1 } as never), 'unknown option `init`'],
    ['createProvider, none', () => createProvider(undefined as never), 'an object of options, not undefined'],
    ['ProviderListener', () => new ProviderListener({ backlogs: 5 } as never), 'did you mean `backlog`?'],
  ])('are refused: %s', async (_what, make, words) => {
    expect(await faultOf(make)).toContain(words);
  });
});
