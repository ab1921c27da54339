import fc from 'fast-check'
import type { ContractReply, ContractRun, ContractSubject } from 'hookspan/adapter/contract'
import { type Approver, deny, type Gate, mutate, requireApproval, skip } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { Recorder } from '../../src/adapter/contract/record.ts'
import { execAgentSubject } from './subjects/exec-agent.ts'

/** What becomes of a call, by the first word of its argument. */
const KINDS = [
  'plain',
  'slow',
  'throws',
  'denied',
  'changed',
  'left',
  'mocked',
  'mockfails',
  'rewritten',
  'hidden',
  'approved',
  'refused',
  'edited',
] as const
/** These end the run, so that they stand alone: whether a call beside them runs is a matter of who is faster. */
const ENDS = ['stops', 'ended'] as const
type Kind = (typeof KINDS)[number] | (typeof ENDS)[number] | 'expert'

/** What becomes of a model call. */
const REPLIES = ['asked', 'asked', 'asked', 'asked', 'answered', 'denied', 'reworded'] as const

interface Plan {
  readonly steps: readonly (readonly Kind[])[]
  /** Of the last model call. */
  readonly last: (typeof REPLIES)[number]
  readonly stream: boolean
}

const plan: fc.Arbitrary<Plan> = fc.record({
  steps: fc
    .array(
      fc.oneof(
        {
          weight: 12,
          arbitrary: fc.array(fc.constantFrom<Kind>(...KINDS, 'plain'), { minLength: 1, maxLength: 3 }),
        },
        { weight: 1, arbitrary: fc.constantFrom<Kind>(...ENDS).map((kind) => [kind]) },
      ),
      { maxLength: 3 },
    )
    // The scripted models of a sub-agent say one thing.
    .chain((steps) =>
      fc
        .boolean()
        .map((asks) =>
          asks && steps.length > 0 && !ENDS.includes(steps[0]?.[0] as never)
            ? [[...(steps[0] as Kind[]), 'expert' as const], ...steps.slice(1)]
            : steps,
        ),
    ),
  last: fc.constantFrom(...REPLIES),
  stream: fc.boolean(),
})

/** What was told otherwise once. */
const FOUND: [Plan][] = [
  [{ steps: [['stops']], last: 'asked', stream: true }],
  [{ steps: [['mockfails', 'plain']], last: 'asked', stream: false }],
]

const argumentOf = (payload: unknown): string => String((payload as { q?: unknown } | undefined)?.q)

function gatesOf({ last, steps }: Plan, decidesOnModels: boolean): Gate[] {
  let asked = 0
  const gates: Gate[] = [
    {
      id: 'before',
      point: 'beforeToolCall',
      decide: ({ payload }) => {
        const q = argumentOf(payload)
        const kind = q.split('-')[0] as Kind
        if (kind === 'denied') return deny(`closed ${q}`)
        if (kind === 'stops') return deny(`enough ${q}`, { stop: true })
        if (kind === 'changed') return mutate({ q: `new${q}` })
        if (kind === 'left') return skip(`left out ${q}`)
        if (['approved', 'refused', 'edited', 'ended'].includes(kind)) return requireApproval()
        return undefined
      },
    },
    {
      id: 'after',
      point: 'afterToolCall',
      decide: ({ payload }) => {
        const q = /(rewritten|hidden)-\d-\d/.exec(JSON.stringify(payload) ?? '')?.[0]
        if (q?.startsWith('rewritten')) return mutate(`other ${q}`)
        return q === undefined ? undefined : deny(`secret ${q}`)
      },
    },
    {
      id: 'model',
      point: ['beforeLlmCall', 'afterLlmCall'],
      decide: ({ point, payload, operationId, rootOperationId }) => {
        if (operationId !== rootOperationId) return undefined
        if (point === 'beforeLlmCall') asked++
        if (asked <= steps.length) return undefined
        if (point === 'afterLlmCall') {
          return last === 'reworded' ? mutate({ ...(payload as object), content: 'done anew' }) : undefined
        }
        if (last === 'answered') return skip({ content: 'not done' })
        return last === 'denied' ? deny('no model') : undefined
      },
    },
  ]
  return decidesOnModels ? gates : gates.filter(({ id }) => id !== 'model')
}

const approver: Approver = {
  requestApproval: async ({ args, argsDigest }) => {
    const q = argumentOf(args)
    if (q.startsWith('refused')) return { decision: 'reject', reason: `no ${q}` }
    if (q.startsWith('ended')) return { decision: 'reject', reason: `no ${q}`, stop: true }
    if (q.startsWith('edited')) return { decision: 'edit', args: { q: `by hand ${q}` }, argsDigest }
    return { decision: 'approve', argsDigest }
  },
}

const SAID =
  /(found|broken|closed|enough|left out|from the mock|mock broke|other|secret|no) (by hand )?(new)?[a-z]+-\d-\d|it is 42/g

/** What a run of the plan tells, in words that are the same for every SDK. */
async function toldBy(subject: ContractSubject, asked: Plan) {
  const { steps, stream } = asked
  const replies: ContractReply[] = [
    ...steps.map((calls, step) => ({
      ...(step % 2 === 1 && { content: `thinking ${step}` }),
      toolCalls: calls.map((kind, index) =>
        kind === 'expert'
          ? { id: `call_${step}_${index}`, name: 'expert', args: { instruction: 'help' } }
          : { id: `call_${step}_${index}`, name: 'look', args: { q: `${kind}-${step}-${index}` } },
      ),
    })),
    { content: 'done' },
  ]
  const recorder = new Recorder(subject.capabilities.steps)
  const { dispatcher } = recorder
  const bodies: string[] = []
  dispatcher.use({
    name: 'random',
    gates: gatesOf(asked, subject.capabilities.decideLlmCalls),
    approver,
    standIn: ({ args }) => {
      const q = argumentOf(args)
      if (q.startsWith('mocked')) return { source: 'random', mock: { content: `from the mock ${q}` } }
      return q.startsWith('mockfails') ? { source: 'random', mock: { error: `mock broke ${q}` } } : undefined
    },
  })
  const execute = async ({ q }: { readonly q: string }) => {
    bodies.push(q)
    for (let turn = q.startsWith('slow') ? 3 : 0; turn > 0; turn--) await new Promise(setImmediate)
    if (q.startsWith('throws')) throw new Error(`broken ${q}`)
    return `found ${q}`
  }
  const parameters = {
    type: 'object',
    properties: { q: { type: 'string' } },
    required: ['q'],
    additionalProperties: false,
  }
  const run: ContractRun = {
    dispatcher,
    agentName: 'contract',
    prompt: 'Look.',
    tools: [{ name: 'look', description: 'Looks something up.', parameters, execute }],
    replies,
    ...(stream && { stream: 'read' }),
    ...(steps.flat().includes('expert') && {
      subAgent: { name: 'expert', replies: [{ content: 'it is 42' }] },
    }),
  }
  const outcome = await subject.run(run).catch((error) => ({ status: 'error', content: String(error) }))
  await dispatcher.drain()
  const { tree, hooks, told, whole } = recorder.record()
  return {
    status: outcome.status,
    content: outcome.content,
    tree: tree.filter((line) => !/^ *step /.test(line)).map((line) => line.trim()),
    hooks: hooks.filter((type) => !/Step$/.test(type)).sort(),
    bodies: bodies.sort(),
    told: told.map((text) => text.match(SAID)?.join(' & ') ?? text),
    whole,
  }
}

/** What the subject can be asked for. */
function within({ capabilities, readsItself, endsOnFailure }: ContractSubject, asked: Plan): Plan {
  const { last } = asked
  // What comes after a failure is told by nobody where it ends the run.
  const steps = endsOnFailure
    ? asked.steps.map((calls) => calls.map((kind) => (/^throws$|fails$/.test(kind) ? 'plain' : kind)))
    : asked.steps
  // The loops of the tests read no calls out of streams.
  const stream = asked.stream && capabilities.streams && (readsItself === true || steps.length === 0)
  return {
    stream,
    steps: capabilities.subAgents
      ? steps
      : steps.map((calls) => calls.map((kind) => (kind === 'expert' ? 'plain' : kind))),
    last: capabilities.decideLlmCalls ? last : 'asked',
  }
}

/** Each asks its own process, which begins the calls of a reply as it likes. */
const ELSEWHERE = ['claude-agent', 'copilot']

const beganIn = <T extends { tree: string[] }>({ name }: ContractSubject, told: T): T =>
  ELSEWHERE.includes(name) ? { ...told, tree: told.tree.toSorted() } : told

/** Processes of their own tell results as they come, and some not what a tool threw. */
function heard({ name, hidesFailures }: ContractSubject, texts: string[]): string[] {
  const failed = /^(mock broke|broken) .*|^Tool execution failed$/
  const said = texts.map((text) => (hidesFailures ? text.replace(failed, 'failed') : text))
  return ELSEWHERE.includes(name) ? said.sort() : said
}

/** Holds each subject to what the reference agent tells of the same random runs. */
export function tellAlikeAtRandom(subjects: readonly ContractSubject[], runs: number): void {
  describe('a random run is told alike on every SDK', () => {
    it.each(subjects)(
      '$name',
      async (subject) => {
        await fc.assert(
          fc.asyncProperty(plan, async (random) => {
            const asked = within(subject, random)
            const { status, content, told, ...expected } = await toldBy(execAgentSubject, asked)
            const got = await toldBy(subject, asked)
            expect(beganIn(subject, got)).toMatchObject(beganIn(subject, expected))
            if (expected.tree[0] !== 'run [done]') return
            expect(got.status).toBe(status)
            expect(got.content).toMatch(new RegExp(`${content}$`))
            // Some send what is new, where the server has the rest.
            const count = subject.name === 'observeAnthropic' ? got.told.length : told.length
            const said = (texts: string[]) => heard(subject, texts.slice(-count))
            if (count > 0) expect(said(got.told)).toEqual(said(told))
          }),
          { numRuns: Number(process.env.RANDOM_RUNS ?? runs), examples: FOUND },
        )
      },
      600_000,
    )
  })
}
