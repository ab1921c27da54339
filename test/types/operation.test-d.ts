// Checked by `npm run typecheck`; nothing here runs.
import {
  HookDispatcher,
  type LlmResponse,
  type ParentOperation,
  type ParkedOperation,
  type ToolMessage,
  type ToolOutcome,
  ToolResult,
} from 'hookspan'
import { type Decision, deny, type Gate, mutate, proceed, requireApproval, skip } from 'hookspan/gates'
import { expectTypeOf } from 'vitest'

const op = new HookDispatcher().startOperation({ agentName: 'support' })

// A tool's arguments and result keep their types.
export const outcome = await op.toolCall(
  { apiName: 'search', args: { city: 'Berlin' } },
  async (args, context) => {
    expectTypeOf(args).toEqualTypeOf<{ city: string }>()
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>()
    return { tempC: 7 }
  },
)
expectTypeOf(outcome).toEqualTypeOf<ToolOutcome<{ tempC: number }>>()
expectTypeOf(outcome.toToolMessage()).toEqualTypeOf<ToolMessage>()

// The outcome narrows by its state.
// @ts-expect-error not every outcome has a result
outcome.result
switch (outcome.state) {
  case 'completed':
  case 'mocked':
  case 'skipped':
    expectTypeOf(outcome.result).toEqualTypeOf<{ tempC: number }>()
    break
  case 'errored':
    expectTypeOf(outcome.error).toBeUnknown()
    break
  case 'denied':
  case 'rejected':
    expectTypeOf(outcome.code).toBeString()
    expectTypeOf(outcome.reason).toBeString()
    break
  case 'waiting':
    expectTypeOf(outcome.request?.argsDigest).toEqualTypeOf<string | undefined>()
    break
  default:
    expectTypeOf(outcome).toBeNever()
}

// A tool may be an async generator: its return value is the result.
export const generated = await op.toolCall({ apiName: 'g', args: {} }, async function* () {
  yield 'progress'
  return 7
})
expectTypeOf(generated).toEqualTypeOf<ToolOutcome<number>>()

// @ts-expect-error a tool has a name
op.toolCall({ args: {} }, () => 1)
// @ts-expect-error a tool call needs its tool
op.toolCall({ apiName: 'a', args: {} })
// @ts-expect-error the arguments are what the tool takes
op.toolCall({ apiName: 'a', args: { q: 1 } }, (args: { q: string }) => args)
// @ts-expect-error content is text
new ToolResult({ content: 7 })

// Whatever runs in a step comes out of it.
expectTypeOf(op.step(() => 1)).toEqualTypeOf<Promise<number>>()
expectTypeOf(op.step(async (step) => step.stepIndex)).toEqualTypeOf<Promise<number>>()

// A model call gives what the client gives.
interface Completion {
  id: string
}
expectTypeOf(op.llmCall({ model: 'm', request: {} }, async () => ({}) as Completion)).toEqualTypeOf<
  Promise<Completion>
>()
op.llmCall<Completion>(
  { model: 'm', request: {}, standIn: (message: LlmResponse) => ({ id: message.id ?? '' }) },
  () => ({ id: '' }),
)
// @ts-expect-error a stand-in is a reply, too
op.llmCall<Completion>({ model: 'm', request: {}, standIn: () => 7 }, () => ({ id: '' }))
// @ts-expect-error a model call has a request
op.llmCall({ model: 'm' }, () => 1)

op.callAgent({ instruction: 'x' }, (parent, { instruction }) => {
  expectTypeOf(parent).toEqualTypeOf<ParentOperation>()
  expectTypeOf(instruction).toBeString()
  return new HookDispatcher().startOperation({ parent }).operationId
})
// @ts-expect-error an agent is told what to do
op.callAgent({ agentName: 'a' }, () => 1)

op.compact({ messageCount: 1, tokenCount: 1 }, () => ({ messagesAfter: 1, extra: true }))
// @ts-expect-error counts are numbers
op.compact({ messageCount: '1', tokenCount: 1 }, () => ({}))

op.complete({ reason: 'max_steps' })
// @ts-expect-error parking is not an end
op.complete({ reason: 'waiting_for_human' })
expectTypeOf(op.park({ waitingFor: 'human' })).toEqualTypeOf<ParkedOperation>()

// Decisions are plain data, whoever makes them.
for (const decision of [
  proceed(),
  mutate({}),
  skip(1),
  deny('no', { stop: true }),
  requireApproval({ timeoutMs: 1 }),
]) {
  expectTypeOf(decision).toExtend<Decision>()
}
export const gates: Gate[] = [
  { id: 'a', point: 'beforeToolCall', decide: (ctx) => (ctx.apiName === 'drop' ? deny('no') : undefined) },
  { id: 'b', point: 'onStart', decide: async () => {} },
  { id: 'c', point: 'afterStep', decide: () => ({ decision: 'deny', reason: 'no' }) },
  // @ts-expect-error a gate decides at a point that exists
  { id: 'd', point: 'beforeToolcall', decide: () => undefined },
  // @ts-expect-error there is no such decision
  { id: 'e', point: 'onStart', decide: () => ({ decision: 'allow' }) },
  // @ts-expect-error a failure is closed or open
  { id: 'f', point: 'onStart', decide: () => undefined, onFailure: 'ignore' },
]
