export type { ObserveOptions } from '../generated-client/options.ts'
export { OPENAI_CAPABILITIES } from './capabilities.ts'
export { observeOpenAI, unobserveOpenAI } from './observe-openai.ts'
