/** The moments at which a gate may decide. */
export const GATE_POINTS = [
  'onStart',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeToolCall',
  'afterToolCall',
  'beforeCallAgent',
  'beforeCompact',
  'afterStep',
  'beforeComplete',
] as const

export type GatePoint = (typeof GATE_POINTS)[number]
