export { type RunWithInit, runWith } from '../sdk-run/run-with.ts'
export type { AskedHuman } from './agent-run.ts'
export { STRANDS_CAPABILITIES } from './capabilities.ts'
export { type ObserveStrandsOptions, observeStrands, unobserveStrands } from './observe-strands.ts'
