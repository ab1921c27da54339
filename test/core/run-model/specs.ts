import fc from 'fast-check'

/** The gates of every run, in the order in which they decide. The first is the root's own, and inherited. */
export const GATE_IDS = ['guard', 'shadow', 'lenient', 'last'] as const
export type GateId = (typeof GATE_IDS)[number]

export const GATE_KINDS = [
  'proceeds',
  'mutates',
  'skips',
  'denies',
  'stops',
  'asks',
  'throws',
  'babbles',
  'hangs',
] as const
export type GateKind = (typeof GATE_KINDS)[number]

/** When something that was begun gives its answer. */
export type Pace = 'at once' | 'soon' | 'when released'

export interface GateSpec {
  readonly kind: GateKind
  readonly pace: Pace
}

export const HUMAN_KINDS = [
  'approves',
  'edits',
  'rejects',
  'stops',
  'parks',
  'fails',
  'babbles',
  'sleeps',
] as const
export type HumanKind = (typeof HUMAN_KINDS)[number]

export interface HumanSpec {
  readonly kind: HumanKind
  readonly pace: Pace
  /** What is answered in the end where the run was parked first. */
  readonly later: 'approves' | 'edits' | 'rejects'
}

/** What the four gates do at one point, and the human whom they may ask. */
export interface ChainSpec {
  readonly gates: Readonly<Record<GateId, GateSpec>>
  readonly human: HumanSpec
}

/**
 * How a call is made: as one, by `toolCall` and the like; or opened, decided, and then run, as adapters do, or told what came of it.
 */
export interface Seam {
  readonly seam: 'called' | 'opened' | 'told'
  /** Between the decision and what comes of it. */
  readonly pause: Pace
}

export interface ToolSpec extends Seam {
  readonly kind: 'tool'
  readonly toolCallId: string | undefined
  readonly before: ChainSpec
  readonly after: ChainSpec
  /** What the `beforeToolCall` hook does. */
  readonly hook: 'observes' | 'mocks' | 'mocks later' | 'mocks an error' | 'mocks and throws' | 'mocks slowly'
  /** Whether an observer hangs beside it. */
  readonly hanging: boolean
  /** What the rule of `mockTools` that takes the call answers. */
  readonly rule: 'none' | 'returns' | 'throws'
  readonly body: 'returns' | 'throws' | 'rejects' | 'reports a failure' | 'yields'
  readonly pace: Pace
}

export interface LlmSpec extends Seam {
  readonly kind: 'llm'
  readonly before: ChainSpec
  readonly after: ChainSpec
  readonly body: 'replies' | 'rejects' | 'streams' | 'streams and fails'
  readonly pace: Pace
  readonly reader: 'all' | 'one' | 'none'
  readonly standIn: boolean
}

export interface AgentSpec extends Seam {
  readonly kind: 'agent'
  readonly before: ChainSpec
  readonly body: 'replies' | 'rejects' | 'is a run'
  readonly pace: Pace
}

export interface CompactSpec extends Seam {
  readonly kind: 'compact'
  readonly before: ChainSpec
  readonly body: 'replies' | 'rejects'
  readonly pace: Pace
}

export type CallSpec = ToolSpec | LlmSpec | AgentSpec | CompactSpec

export interface RunSpec {
  readonly start: ChainSpec
  readonly end: ChainSpec
}

const pace = fc.constantFrom<Pace[]>('at once', 'at once', 'soon', 'when released')

const seam = {
  seam: fc.constantFrom<Seam['seam'][]>('called', 'called', 'opened', 'told'),
  pause: pace,
}

const gate = fc.record({
  kind: fc.constantFrom<GateKind[]>(...GATE_KINDS, 'asks', 'asks', 'asks', 'asks', 'mutates'),
  pace,
})

const human = fc.record({
  kind: fc.constantFrom<HumanKind[]>(...HUMAN_KINDS, 'approves', 'edits', 'parks', 'parks', 'parks', 'parks'),
  pace,
  later: fc.constantFrom<HumanSpec['later'][]>('approves', 'edits', 'rejects'),
})

const quiet: GateSpec = { kind: 'proceeds', pace: 'at once' }
export const QUIET: ChainSpec = {
  gates: { guard: quiet, shadow: quiet, lenient: quiet, last: quiet },
  human: { kind: 'approves', pace: 'at once', later: 'approves' },
}

/** One or two gates that have something to say, or none: four at once would let next to nothing pass. */
const outspoken = fc
  .tuple(fc.uniqueArray(fc.tuple(fc.constantFrom(...GATE_IDS), gate), { maxLength: 2, minLength: 1 }), human)
  .map(
    ([some, asked]): ChainSpec => ({
      gates: { ...QUIET.gates, ...Object.fromEntries(some) },
      human: asked,
    }),
  )

export const chain = fc.oneof(
  { weight: 1, arbitrary: fc.constant(QUIET) },
  { weight: 1, arbitrary: outspoken },
)
const rarely = fc.oneof({ weight: 12, arbitrary: fc.constant(QUIET) }, { weight: 1, arbitrary: outspoken })

const tool = fc.record({
  kind: fc.constant('tool' as const),
  ...seam,
  // Real models repeat ids.
  toolCallId: fc.constantFrom('same', 'same', 'other', undefined),
  before: chain,
  after: chain,
  hook: fc.constantFrom<ToolSpec['hook'][]>(
    ...Array.from({ length: 8 }, () => 'observes' as const),
    'mocks',
    'mocks later',
    'mocks an error',
    'mocks and throws',
    'mocks slowly',
  ),
  hanging: fc.constantFrom(false, false, false, true),
  rule: fc.constantFrom<ToolSpec['rule'][]>('none', 'none', 'none', 'returns', 'throws'),
  body: fc.constantFrom<ToolSpec['body'][]>(
    'returns',
    'returns',
    'throws',
    'rejects',
    'reports a failure',
    'yields',
  ),
  pace,
})

const llm = fc.record({
  kind: fc.constant('llm' as const),
  ...seam,
  before: chain,
  after: chain,
  body: fc.constantFrom<LlmSpec['body'][]>('replies', 'replies', 'rejects', 'streams', 'streams and fails'),
  pace,
  reader: fc.constantFrom<LlmSpec['reader'][]>('all', 'all', 'one', 'none'),
  standIn: fc.boolean(),
})

const agent = fc.record({
  kind: fc.constant('agent' as const),
  ...seam,
  before: chain,
  body: fc.constantFrom<AgentSpec['body'][]>('replies', 'rejects', 'is a run', 'is a run', 'is a run'),
  pace,
})

const compact = fc.record({
  kind: fc.constant('compact' as const),
  ...seam,
  before: chain,
  body: fc.constantFrom<CompactSpec['body'][]>('replies', 'rejects'),
  pace,
})

export const call: fc.Arbitrary<CallSpec> = fc.oneof(
  { weight: 5, arbitrary: tool },
  { weight: 3, arbitrary: llm },
  { weight: 2, arbitrary: agent },
  { weight: 1, arbitrary: compact },
)

export const run: fc.Arbitrary<RunSpec> = fc.record({ start: rarely, end: rarely })
