export { parkedRun } from '../sdk-run/parked-run.ts'
export { type RunWithInit, runWith } from '../sdk-run/run-with.ts'
export { AI_SDK_CAPABILITIES } from './capabilities.ts'
export { type ObserveAISDKOptions, observeAISDK } from './observe-ai-sdk.ts'
