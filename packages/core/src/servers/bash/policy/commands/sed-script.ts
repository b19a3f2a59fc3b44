// Which sed scripts only print: addresses with p, d, q, = and s/// without the flags e and w. A script is read completely
// or refused.

const ADDRESS = /^(?:\d+(?:~\d+)?|\$|\/(?:[^/\\\n]|\\.)*\/I?)/;
/** Reading takes more than linear time, and no one-liner is longer. */
const MAX_SCRIPT_LENGTH = 2_000;
const SAFE_FLAGS = /^[gpiIm0-9]*/;

/** Why a sed script may do more than print; undefined when it only prints. */
export function unknownInSedScript(script: string): string | undefined {
  const unknown = 'the sed script is not known to only print';
  // Where -i takes a value, an empty word is that value, and the script follows.
  if (script === '' || script.includes('\n') || script.length > MAX_SCRIPT_LENGTH) return unknown;
  let rest = script;
  for (;;) {
    rest = rest.replace(/^[\s;]+/, '');
    if (rest === '') return undefined;
    for (let count = 0; count < 2; count++) {
      const [address] = ADDRESS.exec(rest) ?? [];
      if (address === undefined) break;
      if (hasOpenBracket(address)) return unknown;
      rest = rest.slice(address.length).trimStart();
      if (count === 1 || !rest.startsWith(',')) break;
      rest = rest
        .slice(1)
        .trimStart()
        .replace(/^[+~](?=\d)/, '');
    }
    rest = rest.replace(/^!?\s*/, '');
    const command = rest[0] ?? '';
    rest = rest.slice(1);
    if (command === 's' || command === 'y') {
      const delimiter = rest[0] ?? '';
      if (!/^[/|#,:@!%_+]$/.test(delimiter)) return unknown;
      const sections = readSections(rest.slice(1), delimiter);
      if (!sections) return unknown;
      rest = sections.rest;
      if (command === 's') rest = rest.replace(SAFE_FLAGS, '');
    } else if (/^[qQ]$/.test(command)) rest = rest.replace(/^\s*\d*/, '');
    else if (!/^[pdDPgGhHxnNlz=]$/.test(command)) return unknown;
    if (!/^\s*(?:;|$)/.test(rest)) return unknown;
  }
}

function readSections(text: string, delimiter: string): { rest: string } | undefined {
  let rest = text;
  for (let section = 0; section < 2; section++) {
    let at = 0;
    while (at < rest.length && rest[at] !== delimiter) at += rest[at] === '\\' ? 2 : 1;
    if (at >= rest.length) return undefined;
    // Inside brackets some implementations read the delimiter as a letter, and then another script.
    if (hasOpenBracket(rest.slice(0, at))) return undefined;
    rest = rest.slice(at + 1);
  }
  return { rest };
}

function hasOpenBracket(expression: string): boolean {
  return expression
    .replace(/\\./g, '')
    .replace(/\[\^?\]?[^\]]*\]/g, '')
    .includes('[');
}
