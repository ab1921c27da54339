import type { GatePoint } from 'hookspan/gates'
import {
  type AgentSpec,
  type ChainSpec,
  type CompactSpec,
  GATE_IDS,
  type GateId,
  type GateKind,
  type LlmSpec,
  type ToolSpec,
} from './specs.ts'

/** What stands around the calls of one world. */
export interface Setting {
  /** Where the four gates decide. */
  readonly points: readonly GatePoint[]
  readonly composition: 'chain' | 'firstDecision'
  readonly mocks: boolean
  readonly hooks: boolean
}

/** What the gates of a point make of a payload, by the simplest possible account of the promises. */
export interface Decided {
  readonly kind: 'proceed' | 'skip' | 'deny' | 'reject' | 'wait'
  readonly payload: unknown
  readonly changed: boolean
  readonly by?: GateId
  readonly code?: string
  readonly stop: boolean
  readonly asked: readonly GateId[]
}

/** What the human was shown by whom: who is asked the same again says the same, and only to the same. */
export type Memory = Map<GateId, string>

const NO_MEANING: Partial<Record<GatePoint, readonly GateKind[]>> = {
  onStart: ['skips'],
  beforeCompact: ['mutates'],
  afterStep: ['mutates', 'skips'],
}

const FAILURES: Partial<Record<GateKind, string>> = {
  throws: 'gate_error',
  babbles: 'gate_invalid',
  hangs: 'gate_timeout',
}

/** What a gate or a human makes of a payload that it changes. */
export function mark(point: GatePoint, payload: unknown, by: string): unknown {
  if (point === 'beforeCallAgent') return `${payload}+${by}`
  const fields = payload as { content?: string; marks?: string[] }
  if (point === 'afterLlmCall' || point === 'beforeComplete') {
    return { ...fields, content: `${fields.content ?? ''}+${by}` }
  }
  return { ...fields, marks: [...(fields.marks ?? []), by] }
}

/** What a gate that skips answers in the place of the real thing. */
export function skipped(point: GatePoint, payload: unknown, by: string): unknown {
  if (point === 'beforeToolCall' || point === 'afterToolCall') {
    return { key: (payload as { key: number }).key, from: by }
  }
  return point === 'beforeCompact' ? { messagesAfter: 1, summary: by } : `by ${by}`
}

/** What a gate does at a point, its failures and what has no meaning there taken for what they come to. */
function effectOf(id: GateId, kind: GateKind, point: GatePoint): { does: GateKind; code?: string } {
  if (id === 'shadow') return { does: 'proceeds' }
  const code = NO_MEANING[point]?.includes(kind) ? 'gate_invalid' : FAILURES[kind]
  if (code === undefined) return { does: kind, code: 'policy_denied' }
  return id === 'lenient' ? { does: 'proceeds' } : { does: 'denies', code }
}

export function decide(
  { points, composition }: Setting,
  point: GatePoint,
  spec: ChainSpec,
  payload: unknown,
  memory: Memory,
): Decided {
  const asked: GateId[] = []
  let current = payload
  let changed = false
  let approved = false
  const end = (kind: Decided['kind'], more: Partial<Decided> = {}): Decided => ({
    kind,
    payload: current,
    changed,
    stop: false,
    asked,
    ...more,
  })
  /** Undefined when the human lets it pass. */
  const human = (id: GateId, editable: boolean): Decided | undefined => {
    const shown = memory.get(id)
    const now = JSON.stringify(current)
    if (shown === undefined) memory.set(id, now)
    const { kind, later } = spec.human
    if (kind === 'fails' || kind === 'babbles') return end('deny', { code: 'approval_error' })
    if (kind === 'sleeps') return end('deny', { code: 'approval_timeout' })
    if (kind === 'parks' && point !== 'beforeToolCall') return end('deny', { code: 'approval_error' })
    if (kind === 'parks' && shown === undefined) return end('wait')
    const does = kind === 'parks' ? later : kind
    if (does === 'rejects' || does === 'stops') {
      return end('reject', { code: 'rejected', stop: does === 'stops' })
    }
    if (does === 'edits' && !editable) return end('deny', { code: 'approval_error' })
    if (shown !== undefined && shown !== now) return end('deny', { code: 'approval_mismatch' })
    if (does === 'edits') current = mark(point, current, 'human')
    if (does === 'edits' || (point !== 'afterToolCall' && point !== 'afterLlmCall')) changed = true
    approved = true
    return undefined
  }
  if (!points.includes(point)) return end('proceed')
  for (const [index, id] of GATE_IDS.entries()) {
    asked.push(id)
    const { does, code } = effectOf(id, spec.gates[id].kind, point)
    if (does === 'proceeds') continue
    if (does === 'skips') return end('skip', { payload: skipped(point, current, id), by: id })
    if (does === 'denies' || does === 'stops')
      return end('deny', { code: code ?? '', stop: does === 'stops' })
    if (does === 'mutates') {
      if (approved) return end('deny', { code: 'approval_mismatch' })
      current = mark(point, current, id)
      changed = true
    }
    if (does === 'asks') {
      const before = current
      const refused = human(id, NO_MEANING[point]?.includes('mutates') !== true)
      if (refused !== undefined) return refused
      // An edit is put to the gates that decided before and to this one, and only their no counts, and who they ask; it has asked.
      for (const earlier of current === before ? [] : GATE_IDS.slice(0, index + 1)) {
        asked.push(earlier)
        const again = earlier !== id && effectOf(earlier, spec.gates[earlier].kind, point).does === 'asks'
        const stopped = again ? human(earlier, false) : undefined
        if (stopped !== undefined) return stopped
      }
    }
    if (composition === 'firstDecision') break
  }
  return end('proceed')
}

export interface ExpectedTool {
  readonly state: 'completed' | 'mocked' | 'skipped' | 'errored' | 'denied' | 'rejected' | 'waiting'
  readonly code?: string | undefined
  readonly result?: unknown
  /** The arguments that are told and, where the tool runs, given to it. */
  readonly args: unknown
  readonly runs: boolean
  /** Undefined where a gate refused what a mock gave. */
  readonly mocked: boolean | undefined
  readonly stop: boolean
  readonly asked: readonly GateId[]
}

/** What a tool call comes to when nothing from outside comes between. */
export function expectTool(
  setting: Setting,
  spec: ToolSpec,
  args: { key: number },
  memory: { before: Memory; after: Memory },
): ExpectedTool {
  const before = decide(setting, 'beforeToolCall', spec.before, args, memory.before)
  const { asked, code, stop } = before
  const base = { args, runs: false, mocked: false, stop, asked }
  if (before.kind === 'wait') return { ...base, state: 'waiting' }
  if (before.kind === 'deny') return { ...base, state: 'denied', code }
  if (before.kind === 'reject') return { ...base, state: 'rejected', code }
  const effective = before.kind === 'skip' ? args : (before.payload as typeof args)
  const made = before.kind === 'skip' ? undefined : standInOf(setting, spec)
  const told = { ...base, args: effective, mocked: made !== undefined }
  const runs = before.kind !== 'skip' && made === undefined
  if (made?.failed) return { ...told, state: 'errored' }
  if (runs && (spec.body === 'throws' || spec.body === 'rejects')) {
    return { ...told, state: 'errored', runs }
  }
  const state = before.kind === 'skip' ? 'skipped' : runs ? 'completed' : 'mocked'
  const result =
    before.kind === 'skip' ? before.payload : { key: effective.key, from: made?.from ?? 'the tool' }
  const after = decide(setting, 'afterToolCall', spec.after, result, memory.after)
  const all = { ...told, runs, stop: after.stop, asked: [...asked, ...after.asked], code: after.code }
  if (after.kind === 'deny') return { ...all, state: 'denied', mocked: undefined }
  if (after.kind === 'reject') return { ...all, state: 'rejected', mocked: undefined }
  return { ...all, state, result: after.payload }
}

function standInOf(
  { mocks, hooks }: Setting,
  { hook, rule }: ToolSpec,
): { from: string; failed: boolean } | undefined {
  if (hooks && hook !== 'observes') return { from: 'a hook', failed: hook === 'mocks an error' }
  if (mocks && rule !== 'none') return { from: 'a rule', failed: rule === 'throws' }
  return undefined
}

/** What a model call, the call of an agent or a compaction comes to: a value, or what it throws. */
export interface ExpectedCall {
  readonly value?: unknown
  /** The message of what is thrown, or its code. */
  readonly throws?: string
  readonly code?: string | undefined
  readonly runs: boolean
  /** What the body is given: the request, the instruction. */
  readonly given: unknown
  readonly stop: boolean
  readonly asked: readonly GateId[]
}

export const BOOM = 'boom'
export const TEXTS = ['a', 'b', 'c']

export function expectLlm(setting: Setting, spec: LlmSpec, request: object): ExpectedCall {
  const before = decide(setting, 'beforeLlmCall', spec.before, request, new Map())
  const { asked, stop, code } = before
  const base = { runs: false, given: before.payload, stop, asked, code }
  const instead = (by: string | undefined) =>
    spec.standIn ? { value: by === undefined ? 'a refusal' : by } : { throws: 'CALL_DENIED' }
  if (before.kind === 'skip') return { ...base, ...instead(before.payload as string) }
  if (before.kind !== 'proceed') return { ...base, ...instead(undefined) }
  const ran = { ...base, runs: true }
  const streams = spec.body === 'streams' || spec.body === 'streams and fails'
  const gated = setting.points.includes('afterLlmCall')
  if (spec.body === 'rejects') return { ...ran, throws: BOOM }
  if (spec.body === 'streams and fails' && (gated || spec.reader === 'all')) return { ...ran, throws: BOOM }
  const reply = { content: streams ? TEXTS.join('') : 'a reply' }
  const after = decide(setting, 'afterLlmCall', spec.after, reply, new Map())
  const all = { ...ran, stop: after.stop, asked: [...asked, ...after.asked], code: after.code }
  if (after.kind === 'skip') return { ...all, ...instead(after.payload as string) }
  if (after.kind !== 'proceed') return { ...all, ...instead(undefined) }
  if (after.changed) return { ...all, ...instead((after.payload as typeof reply).content) }
  const read = { all: TEXTS, one: TEXTS.slice(0, 1), none: [] }[spec.reader]
  return { ...all, value: streams ? read.join('') : reply.content }
}

export function expectAgent(setting: Setting, spec: AgentSpec, instruction: string): ExpectedCall {
  const before = decide(setting, 'beforeCallAgent', spec.before, instruction, new Map())
  return expectBody(before, spec.body, 'done')
}

export function expectCompact(setting: Setting, spec: CompactSpec, counts: object): ExpectedCall {
  const before = decide(setting, 'beforeCompact', spec.before, counts, new Map())
  return expectBody(before, spec.body, { messagesAfter: 2, summary: 'the body' })
}

function expectBody(before: Decided, body: string, value: unknown): ExpectedCall {
  const { kind, payload, stop, asked, code } = before
  const base = { runs: kind === 'proceed', given: payload, stop, asked, code }
  if (kind === 'skip') return { ...base, value: payload }
  if (kind !== 'proceed') return { ...base, throws: 'CALL_DENIED' }
  return body === 'rejects' ? { ...base, throws: BOOM } : { ...base, value }
}
