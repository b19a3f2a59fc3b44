// The commands that only read, with the options under which they still only read. An option is left out if another
// program of the same name reads it differently.

import { byName, type CommandSpec } from '../option-grammar.js';
import { BYTE_COMMANDS } from './byte-commands.js';
import { FILE_COMMANDS } from './file-commands.js';
import { SEARCH_COMMANDS } from './search-commands.js';
import { SYSTEM_COMMANDS } from './system-commands.js';
import { TEXT_COMMANDS } from './text-commands.js';
import { TRANSFER_COMMANDS } from './transfer-commands.js';

/** By name. */
export const READING_COMMANDS: ReadonlyMap<string, CommandSpec> = byName({
  ...FILE_COMMANDS,
  ...TEXT_COMMANDS,
  ...SEARCH_COMMANDS,
  ...BYTE_COMMANDS,
  ...SYSTEM_COMMANDS,
  ...TRANSFER_COMMANDS,
});
