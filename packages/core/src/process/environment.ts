// The default environment of a child: variables from an allow-list, not the host's whole environment with its secrets.

const POSIX_NAMES: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'LANG',
  'TERM',
  'TZ',
  'TMPDIR',
  'USER',
  'LOGNAME',
  'SHELL',
]);

/** Variables that programs on Windows need to start or to find their files. Names are case-insensitive there. */
const WINDOWS_NAMES: ReadonlySet<string> = new Set([
  ...['PATH', 'PATHEXT', 'SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'TEMP', 'TMP', 'LANG', 'TZ'],
  ...['APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)', 'COMMONPROGRAMFILES'],
  ...['HOMEDRIVE', 'HOMEPATH', 'USERPROFILE', 'USERNAME', 'PROCESSOR_ARCHITECTURE', 'NUMBER_OF_PROCESSORS', 'OS'],
]);

/**
 * The allow-listed part of an environment. Exported shell functions, whose values begin with `()` in bash, are left out.
 */
export function allowedEnvironment(
  host: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const allowed: Record<string, string> = {};
  for (const [name, value] of Object.entries(host)) {
    if (value === undefined || value.startsWith('()')) continue;
    const known =
      platform === 'win32' ? WINDOWS_NAMES.has(name.toUpperCase()) : POSIX_NAMES.has(name) || name.startsWith('LC_');
    if (known) allowed[name] = value;
  }
  return allowed;
}
