export { type RunWithInit, runWith } from '../sdk-run/run-with.ts'
export { GOOGLE_ADK_CAPABILITIES } from './capabilities.ts'
export { type HookspanPlugin, type HookspanPluginOptions, hookspanPlugin } from './plugin.ts'
