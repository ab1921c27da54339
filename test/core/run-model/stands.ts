import type { HookDispatcher, HookEvent } from 'hookspan'
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Approver,
  type Decision,
  deny,
  type ExecutionLedger,
  type Gate,
  type GateContext,
  type GatePoint,
  mutate,
  type ParkedApproval,
  requireApproval,
  skip,
} from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { expect } from 'vitest'
import { hook, hooksOfEveryType, never, turn } from '../support.ts'
import { BOOM, mark, skipped } from './reference.ts'
import { type ChainSpec, type GateId, type HumanSpec, QUIET, type ToolSpec } from './specs.ts'
import type { Call, World } from './world.ts'

export const TIMEOUT_MS = 1_000

/** What a gate and a human go by: where they are asked, and about what. */
type Asked = Pick<
  GateContext,
  'point' | 'operationId' | 'payload' | 'apiName' | 'model' | 'stepIndex' | 'args'
>

/** What was said beforehand about this moment. */
function chainAt(world: World, { point, operationId, payload, ...ctx }: Asked): ChainSpec {
  const run = world.runs.find(({ id }) => id === operationId)
  world.hold(() => expect(run, `a gate is asked about ${operationId}`).toBeDefined())
  if (run === undefined) return QUIET
  if (point === 'onStart') return run.spec.start
  if (point === 'beforeComplete') return run.spec.end
  if (point === 'afterStep') return (run.steps[ctx.stepIndex as number] as { spec: ChainSpec }).spec
  const { spec } = callAt(world, { point, operationId, payload, ...ctx })
  return point.startsWith('after') ? (spec as ToolSpec).after : spec.before
}

function callAt(world: World, { point, payload, apiName, model, args }: Asked): Call {
  const named = model ?? (point === 'beforeCallAgent' ? apiName : undefined)
  const { key, messageCount } = (args ?? payload) as { key?: number; messageCount?: number }
  const index = named === undefined ? (key ?? messageCount) : Number(named.split('-')[1])
  return world.calls[index as number] as Call
}

const POINTS_OF_CALLS: readonly GatePoint[] = [
  'beforeToolCall',
  'afterToolCall',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeCallAgent',
  'beforeCompact',
]

function gateOf(world: World, id: GateId, more: Partial<Gate>): Gate {
  const decideNow = (kind: string, { point, payload }: GateContext): Decision | undefined => {
    switch (kind) {
      case 'mutates':
        return mutate(mark(point, payload, id))
      case 'skips':
        return skip(skipped(point, payload, id))
      case 'denies':
        return deny('no')
      case 'stops':
        return deny('no, and no more', { stop: true })
      case 'asks':
        return requireApproval({ timeoutMs: TIMEOUT_MS })
      case 'throws':
        throw new Error(BOOM)
      case 'babbles':
        return { decision: 'maybe' } as never
      default:
        return undefined
    }
  }
  return {
    id,
    point: world.setting.points,
    timeoutMs: TIMEOUT_MS,
    decide: (ctx) => {
      if (POINTS_OF_CALLS.includes(ctx.point)) callAt(world, ctx).asked.push(id)
      world.hold(() => mayBeAsked(world, ctx))
      const { kind, pace } = chainAt(world, ctx).gates[id]
      world.tally(`${ctx.point}: ${id} ${kind}`)
      return kind === 'hangs' ? never() : world.pacing.at(pace, `gate ${id}`, () => decideNow(kind, ctx))
    },
    ...more,
  }
}

/** Nobody is asked about what begins after the end; a chain that was under way then may go on to its own. */
function mayBeAsked(world: World, ctx: GateContext): void {
  const { operationId, point, totals } = ctx
  const call = POINTS_OF_CALLS.includes(point) ? callAt(world, ctx) : undefined
  expect(call?.late ?? false, `a gate is asked at ${point} of ${operationId} after the end`).toBe(false)
  const run = world.runs.find(({ id }) => id === operationId)
  // What an earlier process still asks about knows nothing of this one.
  if (call === undefined || call.cut || run?.op?.ended === true) return
  expect(totals.toolCalls, `tool calls of ${operationId}`).toBe(toolCallsOf(world, operationId))
}

/** All of the tree's, as budgets count them. */
function toolCallsOf({ runs, calls }: World, operationId: string): number {
  const root = runs.find(({ id }) => id === operationId)?.root
  return calls.filter(({ spec, run, counted }) => spec.kind === 'tool' && counted && run.root === root).length
}

/** The root's own, which its sub-agents inherit. */
export function guardOf(world: World): Gate {
  return gateOf(world, 'guard', { priority: 10 })
}

/** Who is asked the same again says the same again, and only to the same arguments. */
class Human implements Approver {
  readonly #world: World
  readonly ledger?: ExecutionLedger

  constructor(world: World) {
    this.#world = world
    if (world.setting.ledger) this.ledger = this.#ledger()
  }

  #ledger(): ExecutionLedger {
    const { claimed, pacing } = this.#world
    return {
      claim: async (id) =>
        pacing.at('soon', 'claim', () => {
          const result = claimed.get(id)
          if (claimed.has(id)) return result ? { state: 'done', result } : { state: 'unknown' }
          claimed.set(id, undefined)
          return { state: 'run' }
        }),
      settle: async (id, result) => void claimed.set(id, result),
    }
  }

  async requestApproval(request: ApprovalRequest): Promise<ApprovalAnswer | ParkedApproval> {
    const world = this.#world
    const { id, point, args, argsDigest, apiName, operationId, callKey } = request
    const first = world.shown.get(id)
    world.shown.set(id, first ?? argsDigest)
    const stepIndex = point === 'afterStep' ? { stepIndex: Number(callKey.split('-')[1]) } : {}
    const model = point.endsWith('LlmCall') ? { model: apiName } : {}
    const payload = isTold(point, args) ? args.data : args
    const { human } = chainAt(world, { point, operationId, payload, apiName, ...stepIndex, ...model })
    const { kind, pace, later } = human
    world.tally(`human ${kind}`)
    const again = first !== undefined && point === 'beforeToolCall'
    const says = kind === 'parks' && again ? later : kind
    if (says === 'sleeps') return never()
    return world.pacing.at(first === undefined ? pace : 'at once', 'human', () =>
      this.#answer(says, point, args, first ?? argsDigest),
    )
  }

  #answer(
    says: HumanSpec['kind'],
    point: GatePoint,
    args: unknown,
    argsDigest: string,
  ): ApprovalAnswer | ParkedApproval {
    switch (says) {
      case 'parks':
        return { decision: 'park' }
      case 'approves':
        return { decision: 'approve', argsDigest }
      case 'edits':
        return {
          decision: 'edit',
          argsDigest,
          args: isTold(point, args)
            ? { ...args, data: mark(point, args.data, 'human') }
            : mark(point, args, 'human'),
        }
      case 'rejects':
        return { decision: 'reject' }
      case 'stops':
        return { decision: 'reject', stop: true }
      case 'babbles':
        return { decision: 'perhaps' } as never
      default:
        throw new Error(BOOM)
    }
  }
}

/** A human is shown all of a `ToolResult`: what the model is told, and the data in it. */
function isTold(point: GatePoint, args: unknown): args is { content: string; data: unknown } {
  return point === 'afterToolCall' && typeof (args as { content?: unknown } | null)?.content === 'string'
}

/** What a `beforeToolCall` hook that may mock does to a call. */
async function mockLater(event: HookEvent<'beforeToolCall'>, key: number): Promise<void> {
  await turn()
  event.mock(mocked(key))
}

const mocked = (key: number) => ({ content: 'mocked', data: { key, from: 'a hook' } })

function mocker(world: World) {
  return (event: HookEvent): void | Promise<void> => {
    if (event.hookType !== 'beforeToolCall') return
    const { key } = event.args as { key: number }
    const { hook: does } = (world.calls[key] as Call).spec as ToolSpec
    world.tally(`hook ${does}`)
    if (does === 'mocks') event.mock(mocked(key))
    if (does === 'mocks slowly') event.mock({ ...mocked(key), delayMs: TIMEOUT_MS / 2 })
    if (does === 'mocks an error') event.mock({ error: BOOM })
    if (does === 'mocks later') return world.pacing.moving(mockLater(event, key))
    if (does === 'mocks and throws') {
      event.mock(mocked(key))
      throw new Error('after mocking')
    }
  }
}

/** Gates, humans, hooks and mocks of one dispatcher: each goes by what was said beforehand about the call. */
export function plugInto(dispatcher: HookDispatcher, world: World): void {
  const { hooks, mocks, traced } = world.setting
  dispatcher.use({
    name: 'gates',
    gates: [
      gateOf(world, 'shadow', { priority: 20, shadow: true }),
      gateOf(world, 'lenient', { priority: 30, onFailure: 'proceed' }),
      gateOf(world, 'last', { priority: 40 }),
    ],
    approver: new Human(world),
    ...(traced && { instrument: world.watch.instrument }),
  })
  if (hooks) {
    const hanging = (event: HookEvent) => {
      if (event.hookType !== 'beforeToolCall') return
      const { key } = event.args as { key: number }
      if (((world.calls[key] as Call).spec as ToolSpec).hanging) return never()
    }
    dispatcher.use({
      name: 'hooks',
      hooks: [
        ...hooksOfEveryType((event) => void world.watch.events.push(event)),
        hook('beforeToolCall', mocker(world), { id: 'mocker' }),
        hook('beforeToolCall', hanging, { id: 'hanging', timeoutMs: TIMEOUT_MS }),
      ],
    })
  }
  if (mocks) {
    const made = ({ key }: { key: number }) => ({ key, from: 'a rule' })
    const rules = [
      mock('*').when({ rule: 'returns' }).calls(made).optional(),
      mock('*').when({ rule: 'throws' }).throws(new Error(BOOM)).optional(),
    ]
    mockTools(dispatcher, rules, { onUnmocked: 'passthrough' })
  }
}
