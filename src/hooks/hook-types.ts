/** The sixteen lifecycle moments, in the order in which a run meets them, group by group. */
export const HOOK_TYPES = [
  'beforeStep',
  'afterStep',
  'onComplete',
  'onError',
  'beforeToolCall',
  'afterToolCall',
  'onToolCallError',
  'beforeHumanIntervention',
  'afterHumanIntervention',
  'onStopByHumanIntervention',
  'beforeCompact',
  'afterCompact',
  'onCompactError',
  'beforeCallAgent',
  'afterCallAgent',
  'onCallAgentError',
] as const

/** Four more, for what the sixteen cannot see: the start of a run and its model calls. */
export const EXTENDED_HOOK_TYPES = ['onStart', 'beforeLlmCall', 'afterLlmCall', 'onLlmCallError'] as const

export type HookType = (typeof HOOK_TYPES)[number]
export type ExtendedHookType = (typeof EXTENDED_HOOK_TYPES)[number]
export type AnyHookType = HookType | ExtendedHookType

const ALL_TYPES: ReadonlySet<string> = new Set([...HOOK_TYPES, ...EXTENDED_HOOK_TYPES])

/** Whether `value` is one of the twenty hook types. */
export function isHookType(value: unknown): value is AnyHookType {
  return typeof value === 'string' && ALL_TYPES.has(value)
}
