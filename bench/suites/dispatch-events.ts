import type { AnyHookType } from 'hookspan'

/** An event as a runtime hands it over. Each carries `index`, which the listeners add up. */
export interface EventForm {
  readonly id: string
  readonly title: string
  readonly type: AnyHookType
  init(index: number): object
}

export const FORMS: readonly EventForm[] = [
  {
    id: 'flat',
    title: 'Flat event',
    type: 'afterStep',
    init: (index) => ({ index, stepIndex: 3, stepType: 'call_llm', executionTimeMs: 12.5 }),
  },
  {
    id: 'tool',
    title: 'Tool event',
    type: 'afterToolCall',
    init: (index) => ({
      index,
      identifier: 'local',
      source: 'local',
      apiName: 'search',
      args: { query: 'orders of last week', limit: 20, filters: { state: 'open' } },
      callIndex: 0,
      toolCallId: 'call_8GmJ0f',
      content: '{"found":3}',
      result: { found: 3 },
      success: true,
      mocked: false,
      executionTimeMs: 12.5,
    }),
  },
]
