// The commands that only read, with the options that leave it so. An option that another program of the same name reads
// in another way is left out.

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
