export { parkedRun } from '../sdk-run/parked-run.ts'
export { type RunWithInit, runWith } from '../sdk-run/run-with.ts'
export { COPILOT_CAPABILITIES } from './capabilities.ts'
export { type ObserveCopilotOptions, observeCopilot, unobserveCopilot } from './observe-copilot.ts'
