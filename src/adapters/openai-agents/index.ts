export { CAPABILITIES as OPENAI_AGENTS_CAPABILITIES } from './capabilities.ts'
export { type ObserveAgentsOptions, observeAgents, unobserveAgents } from './observe-agents.ts'
