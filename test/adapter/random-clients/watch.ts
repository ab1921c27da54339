import { setImmediate as turn } from 'node:timers/promises'
import {
  type AnyHookType,
  EXTENDED_HOOK_TYPES,
  HOOK_TYPES,
  type HookDispatcher,
  type HookEvent,
} from 'hookspan'
import { type Approver, deny, type Gate } from 'hookspan/gates'
import { expect } from 'vitest'
import { traced } from '../../support/span-tree.ts'
import type { Plan } from './plan.ts'
import { happen, inTime, type Seen } from './world.ts'

const TYPES: readonly AnyHookType[] = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES]

export const MODES = {
  observers: [],
  proceeding: [
    { id: 'before', point: 'beforeLlmCall', decide: () => {} },
    { id: 'after', point: 'afterLlmCall', decide: async () => void (await turn()) },
  ],
  shadows: [
    { id: 'both', point: ['beforeLlmCall', 'afterLlmCall'], shadow: true, decide: () => deny('never') },
  ],
} satisfies Record<string, Gate[]>

/** What a plan came to, and what was told of it. */
export interface Watched {
  readonly seen: Seen
  readonly events: readonly HookEvent[]
  readonly spans: readonly { readonly name: string; readonly failed: boolean }[]
}

/** Has a plan happen under observers who misbehave, and gates. */
export async function watch(plan: Plan, gates: readonly Gate[], approver?: Approver): Promise<Watched> {
  using tracing = traced({ captureContent: true })
  const { dispatcher } = tracing
  const events: HookEvent[] = []
  dispatcher.use({
    name: 'watch',
    gates: [...gates],
    ...(approver && { approver }),
    hooks: TYPES.flatMap((type) => [
      { id: `note ${type}`, type, handler: (event: HookEvent) => void events.push(event) },
      {
        id: `throws ${type}`,
        type,
        handler: () => {
          throw new Error('a bad observer')
        },
      },
      {
        id: `slow ${type}`,
        type,
        ...(type === 'beforeToolCall' && { mocks: false }),
        handler: async () => void (await turn()),
      },
    ]) as never,
  })
  const seen = await happen(plan, dispatcher)
  await ended(dispatcher)
  const spans = tracing.spans().map(({ name, status }) => ({ name, failed: status.code === 2 }))
  return { seen, events, spans }
}

/** Every operation is over, and all of it told. */
async function ended(dispatcher: HookDispatcher): Promise<void> {
  const over = async () => {
    while (dispatcher.stats().operations > 0) await turn()
    await dispatcher.drain()
  }
  await inTime('the operations', over(), () => dispatcher.stats())
}

/** Each call is told once from its beginning to its end, and has one span that says how it ended. */
export function expectTold(plan: Plan, { events, spans }: Watched): void {
  const of = (...types: AnyHookType[]) => events.filter(({ hookType }) => types.includes(hookType))
  const keys = (told: HookEvent[]) =>
    told.map((event) => `${event.operationId} ${(event as { callKey?: string }).callKey}`).sort()
  const begun = keys(of('beforeLlmCall'))
  expect(keys(of('afterLlmCall', 'onLlmCallError'))).toEqual(begun)
  expect(new Set(begun).size).toBe(begun.length)
  if (plan.calls.every(({ way }) => way !== 'tools')) expect(begun).toHaveLength(plan.calls.length)
  const models = spans.filter(({ name }) => /^(chat|text_completion|generate_content) /.test(name))
  expect(models).toHaveLength(begun.length)
  expect(models.filter(({ failed }) => failed)).toHaveLength(of('onLlmCallError').length)
  const runs = new Set(events.map(({ operationId }) => operationId))
  expect(of('onComplete')).toHaveLength(runs.size)
}
