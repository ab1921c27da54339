// Checked by `npm run typecheck`; nothing here runs.
import {
  type Decision,
  deny,
  type Gate,
  type GateContext,
  type GatePoint,
  gateAt,
  mutate,
  proceed,
  requireApproval,
  skip,
  type TreeTotals,
} from 'hookspan/gates'
import { commandGate, httpGate, toolPolicy, webhookHook } from 'hookspan/policies'
import { expectTypeOf } from 'vitest'

// Every way to decide is a decision, at every point, with or without a promise.
export const gates: Gate[] = [
  { id: 'a', point: 'onStart', decide: () => proceed() },
  { id: 'b', point: 'beforeLlmCall', decide: () => mutate({ temperature: 0 }) },
  { id: 'c', point: 'afterLlmCall', decide: async () => skip('canned') },
  { id: 'd', point: 'beforeToolCall', decide: () => deny('no', { code: 'mine', stop: true }) },
  { id: 'e', point: 'afterToolCall', decide: () => requireApproval({ timeoutMs: 1, allow: ['approve'] }) },
  { id: 'f', point: ['beforeCallAgent', 'beforeCompact'], decide: () => {} },
  { id: 'g', point: 'afterStep', decide: async () => undefined, match: ['x_*'], shadow: true },
  { id: 'h', point: 'beforeComplete', decide: ({ point }) => void point, onFailure: 'proceed' },
]

// @ts-expect-error there is no such point
export const point: Gate = { id: 'x', point: 'beforeTool', decide: () => {} }
// @ts-expect-error a gate answers a decision, not a boolean
export const answer: Gate = { id: 'x', point: 'onStart', decide: () => true }
// @ts-expect-error failing is answered by deny or proceed
export const failure: Gate = { id: 'x', point: 'onStart', decide: () => {}, onFailure: 'open' }
// @ts-expect-error only the three choices can be allowed
requireApproval({ allow: ['maybe'] })
// @ts-expect-error a refusal has a reason
deny()

declare const ctx: GateContext
expectTypeOf(ctx.point).toEqualTypeOf<GatePoint>()
expectTypeOf(ctx.payload).toBeUnknown()
expectTypeOf(ctx.totals).toEqualTypeOf<TreeTotals>()
// @ts-expect-error what a gate is told is its own copy, and stays as it is
ctx.operationId = 'other'

// The payload has the type of the point.
gateAt('beforeLlmCall', { id: 'x', decide: ({ payload }) => mutate({ model: payload.model }) })
gateAt('afterLlmCall', {
  id: 'x',
  decide: ({ payload }) => void expectTypeOf(payload.content).toEqualTypeOf<string | undefined>(),
})
gateAt('beforeCallAgent', { id: 'x', decide: ({ payload }) => mutate(payload.toUpperCase()) })
gateAt('beforeComplete', {
  id: 'x',
  decide: ({ payload, point }) => (payload.reason === 'done' ? undefined : deny(point)),
})
// @ts-expect-error the reply has no messages
gateAt('afterLlmCall', { id: 'x', decide: ({ payload }) => void payload.messages })
// @ts-expect-error there is no such point
gateAt('beforeTool', { id: 'x', decide: () => {} })
expectTypeOf(gateAt('onStart', { id: 'x', decide: () => {} })).toEqualTypeOf<Gate>()

declare const decision: Decision
if (decision.decision === 'deny') expectTypeOf(decision.reason).toEqualTypeOf<string | undefined>()
// @ts-expect-error only a mutation has a payload
decision.payload

expectTypeOf(toolPolicy({ deny: ['x'] })).toEqualTypeOf<Gate>()
// @ts-expect-error misspelt
toolPolicy({ denied: ['x'] })
// @ts-expect-error a command gate needs a command
commandGate({ id: 'x', point: 'onStart' })
// @ts-expect-error an HTTP gate needs a URL
httpGate({ id: 'x', point: 'onStart' })
webhookHook({ id: 'x', type: 'afterToolCall', url: 'https://a.example', select: (event) => event.apiName })
// @ts-expect-error onComplete has no tool
webhookHook({ id: 'x', type: 'onComplete', url: 'https://a.example', select: (event) => event.apiName })
