export type { ObserveOptions } from '../generated-client/options.ts'
export { observeOpenAI, unobserveOpenAI } from './observe-openai.ts'
