export { type RunWithInit, runWith } from '../sdk-run/run-with.ts'
export { type HookspanCallbacks, hookspanCallbacks } from './callbacks.ts'
export { LANGCHAIN_CAPABILITIES, LANGGRAPH_CAPABILITIES } from './capabilities.ts'
export { type HookspanMiddleware, type HookspanMiddlewareOptions, hookspanMiddleware } from './middleware.ts'
