export type { ObserveOptions } from '../generated-client/options.ts'
export { GOOGLE_GENAI_CAPABILITIES } from './capabilities.ts'
export { observeGoogleGenAI, unobserveGoogleGenAI } from './observe-google-genai.ts'
