// @toolwright/core/adapters: what tools are called where models see them. It imports no module of Node's.

export { aliasOf } from './alias.js';
