export { parkedRun } from '../sdk-run/parked-run.ts'
export { type RunWithInit, runWith } from '../sdk-run/run-with.ts'
export { MASTRA_CAPABILITIES } from './capabilities.ts'
export { type ObserveMastraOptions, observeMastra, unobserveMastra } from './observe-mastra.ts'
