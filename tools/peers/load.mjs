// Imports a package that is installed here, by the name that it has here: several versions have names of their own.

/** @param {string} specifier such as `ai7/test` */
export function load(specifier) {
  return import(specifier);
}
