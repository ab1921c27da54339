export type { ObserveOptions } from '../generated-client/observe-client.ts'
export { observeOpenAI, unobserveOpenAI } from './observe-openai.ts'
