import { type AnyHookType, EXTENDED_HOOK_TYPES, HOOK_TYPES } from 'hookspan'
import { type Agent, type AgentTool, execAgent } from 'hookspan/agent'
import { deny } from 'hookspan/gates'
import { expect, it } from 'vitest'
import { recorded, scripted, usage } from '../support/scripted-client.ts'

const tools: AgentTool[] = [
  { name: 'search', execute: () => 'found '.repeat(600) },
  { name: 'flaky', execute: () => Promise.reject(new Error('no seats')) },
  { name: 'pay', needsApproval: true, execute: () => 'paid' },
  { name: 'cancel', needsApproval: true, execute: () => 'cancelled' },
]
const expert: Agent = { name: 'expert', model: 'gpt-4o-mini' }
const lawyer: Agent = { name: 'lawyer', model: 'gpt-4o-mini' }
const support: Agent = {
  name: 'support',
  model: 'gpt-4o',
  tools,
  subAgents: [expert, lawyer],
  compaction: { thresholdTokens: 500, keepMessages: 1 },
}
const call = (name: string, args: object = {}) => ({
  toolCalls: [{ id: name, name, arguments: args }],
  usage,
})

/** The order in which a run that uses every hook fires them. The sub-agent's own are indented. */
const SEQUENCE = [
  'onStart',
  // A tool that works.
  'beforeStep',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeToolCall search',
  'afterToolCall search',
  'afterStep',
  // The conversation is long now: the first compaction fails with its model call, the second succeeds.
  'beforeCompact',
  'beforeLlmCall',
  'onLlmCallError',
  'onCompactError',
  // A tool that throws.
  'beforeStep',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeToolCall flaky',
  'onToolCallError flaky',
  'afterStep',
  'beforeCompact',
  'beforeLlmCall',
  'afterLlmCall',
  'afterCompact',
  // A sub-agent that answers.
  'beforeStep',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeToolCall expert',
  'beforeCallAgent expert',
  '  onStart',
  '  beforeStep',
  '  beforeLlmCall',
  '  afterLlmCall',
  '  afterStep',
  '  onComplete done',
  'afterCallAgent expert',
  'afterToolCall expert',
  'afterStep',
  // A sub-agent that a gate refuses.
  'beforeStep',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeToolCall lawyer',
  'beforeCallAgent lawyer',
  'onCallAgentError lawyer',
  'afterToolCall lawyer',
  'afterStep',
  // An approval that is given: the hook sees what was approved, so it comes after the human.
  'beforeStep',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeHumanIntervention',
  'afterHumanIntervention',
  'beforeToolCall pay',
  'afterToolCall pay',
  'afterStep',
  // An approval that is refused, and ends the run.
  'beforeStep',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeHumanIntervention',
  'afterHumanIntervention',
  'onStopByHumanIntervention',
  'beforeToolCall cancel',
  'afterToolCall cancel',
  'afterStep',
  'onComplete denied',
]

it('fires all hooks from one run, in their order', async () => {
  const { client, fetch } = scripted([
    call('search'),
    { error: { status: 500, message: 'busy' } },
    call('flaky'),
    { content: 'They searched; no seats.', usage },
    call('expert', { instruction: 'What now?' }),
    { content: 'Try tomorrow.', usage },
    call('lawyer', { instruction: 'Sue.' }),
    call('pay'),
    call('cancel'),
  ])
  const { dispatcher, events, tree } = recorded()
  const isLawyer = (apiName?: string) => apiName === 'lawyer'
  dispatcher.use({
    name: 'no-lawyers',
    gates: [
      {
        id: 'g',
        point: 'beforeCallAgent',
        decide: (ctx) => (isLawyer(ctx.apiName) ? deny('no') : undefined),
      },
    ],
  })
  const run = await execAgent({
    agent: support,
    messages: [
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Hello. What can I do?' },
    ],
    prompt: 'Book a flight.',
    client,
    dispatcher,
    approver: async ({ apiName }) =>
      apiName === 'pay' ? { decision: 'approve' } : { decision: 'reject', stop: true },
  })

  fetch.assertDone()
  expect(run).toMatchObject({ reason: 'denied', steps: 6 })
  const told = events.map((event) => {
    const { hookType } = event
    const indent = event.parentOperationId === undefined ? '' : '  '
    const about =
      'apiName' in event ? event.apiName : hookType.includes('CallAgent') ? event.agentName : undefined
    const reason = event.hookType === 'onComplete' ? event.reason : undefined
    return [`${indent}${hookType}`, about ?? reason].filter((part) => part !== undefined).join(' ')
  })
  expect(told).toEqual(SEQUENCE)
  const own = events.filter((event) => event.operationId === run.operationId)
  expect(own.map((event) => event.sequence)).toEqual(own.map((_, index) => index))
  expect(tree.lines().join()).not.toContain('!ended')

  const failing = scripted([{ error: { status: 500, message: 'down' } }])
  await execAgent({ agent: support, prompt: 'Again.', client: failing.client, dispatcher })
  const fired = new Set<AnyHookType>(events.map((event) => event.hookType))
  expect([...fired].sort()).toEqual([...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].sort())
  expect(events.slice(-2).map((event) => event.hookType)).toEqual(['onError', 'onComplete'])
})
