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

/** What the events of a group are about: each group is one kind of activity, `run` the operation itself. */
export type HookGroup = 'run' | 'step' | 'tool' | 'human' | 'compaction' | 'subAgent' | 'llm'

/** Where each event stands in its activity, and of what kind that is. The one table: whatever goes by group reads it. */
export const HOOK_GROUPS = {
  onStart: { group: 'run', moment: 'begin' },
  onComplete: { group: 'run', moment: 'end' },
  onError: { group: 'run', moment: 'note' },
  beforeStep: { group: 'step', moment: 'begin' },
  afterStep: { group: 'step', moment: 'end' },
  beforeToolCall: { group: 'tool', moment: 'begin' },
  afterToolCall: { group: 'tool', moment: 'end' },
  onToolCallError: { group: 'tool', moment: 'failure' },
  beforeHumanIntervention: { group: 'human', moment: 'begin' },
  afterHumanIntervention: { group: 'human', moment: 'end' },
  onStopByHumanIntervention: { group: 'human', moment: 'note' },
  beforeCompact: { group: 'compaction', moment: 'begin' },
  afterCompact: { group: 'compaction', moment: 'end' },
  onCompactError: { group: 'compaction', moment: 'failure' },
  beforeCallAgent: { group: 'subAgent', moment: 'begin' },
  afterCallAgent: { group: 'subAgent', moment: 'end' },
  onCallAgentError: { group: 'subAgent', moment: 'failure' },
  beforeLlmCall: { group: 'llm', moment: 'begin' },
  afterLlmCall: { group: 'llm', moment: 'end' },
  onLlmCallError: { group: 'llm', moment: 'failure' },
} as const satisfies {
  readonly [T in AnyHookType]: {
    readonly group: HookGroup
    /** `end`: it was done; `failure`: it threw; `note`: one more thing is told of it. */
    readonly moment: 'begin' | 'end' | 'failure' | 'note'
  }
}

/** Whether `value` is one of the twenty hook types. */
export function isHookType(value: unknown): value is AnyHookType {
  return typeof value === 'string' && Object.hasOwn(HOOK_GROUPS, value)
}
