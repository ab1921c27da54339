export { type ObserveOptions, observeOpenAI, unobserveOpenAI } from './observe-openai.ts'
