export { ANTHROPIC_CAPABILITIES } from './capabilities.ts'
export { type ObserveAnthropicOptions, observeAnthropic, unobserveAnthropic } from './observe-anthropic.ts'
