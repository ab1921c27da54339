import { HookDispatcher } from 'hookspan'
import type { ContractSubject } from 'hookspan/adapter/contract'
import {
  type Decision,
  deny,
  type GateContext,
  type GatePoint,
  mutate,
  proceed,
  requireApproval,
  skip,
} from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { eventsOf, findAll } from '../support/told-events.ts'
import type { ExpertAgent, SeenRun } from './subjects/model.ts'

/** What a gate makes of an agent that is called by another. */
interface Case {
  readonly point: GatePoint
  readonly decide: (context: GateContext) => Decision
  /** Of whose run, where both come by. */
  readonly only?: string
  /** What the agent is asked; undefined where it is not. */
  readonly asked?: 'do six' | 'do seven'
  /** What the model that called it is told: what the agent said, or what the gate did; `refused`: that there is nothing. */
  readonly reads: 'it is 42' | 'it is 43' | 'refused'
  /** Where an SDK takes no such answer it may refuse it. */
  readonly mayRefuse?: true
}

const changing = ({ payload }: GateContext) =>
  mutate(JSON.parse(JSON.stringify(payload).replaceAll('do six', 'do seven')))
const ofExpert = { only: 'expert' }
const asIs = { asked: 'do six' } as const

const CASES: Readonly<Record<string, Case>> = {
  'onStart changes its input': {
    point: 'onStart',
    decide: changing,
    ...ofExpert,
    asked: 'do seven',
    reads: 'it is 42',
  },
  'onStart refuses its run': { point: 'onStart', decide: () => deny('no'), ...ofExpert, reads: 'refused' },
  'beforeCallAgent changes its instruction': {
    point: 'beforeCallAgent',
    decide: changing,
    asked: 'do seven',
    reads: 'it is 42',
  },
  'beforeCallAgent refuses its call': {
    point: 'beforeCallAgent',
    decide: () => deny('no'),
    reads: 'refused',
  },
  'beforeCallAgent answers for it': {
    point: 'beforeCallAgent',
    decide: () => skip('it is 43'),
    reads: 'it is 43',
    mayRefuse: true,
  },
  'beforeCallAgent answers as an agent does': {
    point: 'beforeCallAgent',
    decide: () => skip({ content: 'it is 43' }),
    reads: 'it is 43',
    mayRefuse: true,
  },
  'a human edits its instruction': {
    point: 'beforeCallAgent',
    decide: () => requireApproval(),
    asked: 'do seven',
    reads: 'it is 42',
  },
  'beforeComplete changes its last word': {
    point: 'beforeComplete',
    decide: () => mutate({ content: 'it is 43' }),
    ...ofExpert,
    ...asIs,
    reads: 'it is 43',
    mayRefuse: true,
  },
  'beforeComplete answers for its last word': {
    point: 'beforeComplete',
    decide: () => skip('it is 43'),
    ...ofExpert,
    ...asIs,
    reads: 'it is 43',
    mayRefuse: true,
  },
  'beforeComplete withholds its last word': {
    point: 'beforeComplete',
    decide: () => deny('no'),
    ...ofExpert,
    ...asIs,
    reads: 'refused',
  },
}

async function play(
  subject: ContractSubject,
  { point, decide, only }: Case,
  stream: boolean,
  before?: string,
) {
  const dispatcher = new HookDispatcher()
  const answer = { decision: 'edit', args: 'do seven' } as const
  dispatcher.use({
    name: 'gates',
    approver: { requestApproval: async () => answer },
    gates: [
      {
        id: 'on the expert',
        point,
        decide: (context) => (only === undefined || context.agentName === only ? decide(context) : undefined),
      },
    ],
  })
  const events = eventsOf(dispatcher)
  const asked: { model: string; request: string }[] = []
  const expert: ExpertAgent = {
    name: 'expert',
    replies: [{ content: 'it is 42' }],
    ...(before && { before }),
  }
  const run: SeenRun = {
    dispatcher,
    agentName: 'contract',
    prompt: 'go',
    tools: [],
    replies: [
      { toolCalls: [{ id: 'ask', name: 'expert', args: { instruction: 'do six' } }] },
      { content: 'done' },
    ],
    subAgent: expert,
    asked: (model, request) => void asked.push({ model, request: JSON.stringify(request) }),
    ...(stream && { stream: 'read' as const }),
  }
  // What a tool throws ends the run on some SDKs.
  await subject.run(run).catch(() => {})
  await dispatcher.drain()
  const requests = (name: string) => asked.flatMap(({ model, request }) => (model === name ? [request] : []))
  return { events, expert: requests('expert'), read: requests('contract')[1] ?? '' }
}

async function hold(subject: ContractSubject, one: Case, stream: boolean): Promise<void> {
  const { events, expert, read } = await play(subject, one, stream)
  expect(expert.map((request) => /do six|do seven/.exec(request)?.[0])).toEqual(one.asked ? [one.asked] : [])
  const gave = findAll(events, 'afterCallAgent').filter(({ success }) => success)
  const told = gave.map(({ content }) => content)
  const reads = ['it is 42', 'it is 43'].filter((word) => read.includes(word))
  const isRefused = one.reads === 'refused' || (one.mayRefuse === true && told.length === 0)
  expect({ told, reads }).toEqual(
    isRefused ? { told: [], reads: [] } : { told: [one.reads], reads: [one.reads] },
  )
  expect(findAll(events, 'onCallAgentError')).toHaveLength(isRefused ? 1 : 0)
  const withheld = findAll(events, 'afterCallAgent').filter(({ content }) => content === 'it is 42')
  expect(withheld).toHaveLength(one.reads === 'it is 42' ? 1 : 0)
  // What its tool gave is what the agent did.
  for (const { content } of findAll(events, 'afterToolCall').filter(({ success }) => success)) {
    expect(content).toContain(told[0] ?? '')
    expect(content).not.toContain('{"content":"')
    if (isRefused) expect(content).toBe('')
  }
}

/** In a conversation it is the last word of the user that is changed. */
async function holdSaidBefore(subject: ContractSubject, one: Case, stream: boolean): Promise<void> {
  const unchanged = await play(subject, { ...one, decide: () => proceed() }, stream, 'said before')
  const { expert } = await play(subject, one, stream, 'said before')
  expect(expert).toHaveLength(1)
  expect(expert[0]).not.toContain('do six')
  const saysAll = (request = '') =>
    ['said before', 'Yes.', 'do seven'].map((word) => request.split(word).length)
  const asItWas = unchanged.expert.map((request) => request.replaceAll('do six', 'do seven'))
  expect(saysAll(expert[0])).toEqual(saysAll(asItWas[0]))
}

/** What a gate makes of an agent that a tool calls is what it is asked, what the calling model reads and what hooks are told. */
export function holdSubAgentsAlike(subjects: readonly ContractSubject[]): void {
  const within = subjects.filter(({ capabilities }) => capabilities.subAgents)
  describe.each(within)('of an agent that another calls, on $name,', (subject) => {
    describe.each([false, true])('streamed: %s,', (stream) => {
      it.each(Object.keys(CASES).filter((name) => CASES[name]?.asked === 'do seven'))(
        '%s in a conversation',
        (name) => holdSaidBefore(subject, CASES[name] as Case, stream),
        60_000,
      )
      it.each(Object.keys(CASES))('%s', (name) => hold(subject, CASES[name] as Case, stream), 60_000)
    })
  })
}
