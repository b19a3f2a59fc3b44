// @toolwright/runtime/testing: the contract's tools as provider files, for those who test what runs provider files.

export { contractProviderFile, type ContractLanguage } from './contract-provider-file.js';
