import { type Decision, deny, type Gate, type GatePoint, mutate, skip } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import type { ClaudeReply } from './subjects/claude-agent.ts'
import { askClaude, saying } from './support/ask-claude.ts'
import type { Untyped } from './support/sdks.ts'

const bash = (id: string, command = `echo ${id}`) => ({
  id,
  name: 'Bash',
  args: { command, description: 'Says it' },
})
const asks = (...toolCalls: ReturnType<typeof bash>[]): ClaudeReply => ({ toolCalls })
const callsExpert = {
  id: 'call_1',
  name: 'Agent',
  args: { description: 'Helps', prompt: 'help', subagent_type: 'expert', run_in_background: false },
}
const withExpert = {
  tools: ['Agent', 'Bash'],
  agents: { expert: { description: 'Knows.', prompt: 'You know.', tools: ['Bash'], model: 'expert' } },
}
const done: ClaudeReply = { content: 'done' }
const permitted = { tools: ['Bash'], allowedTools: ['Bash'] }

/** Two prompts, the second of which is said when the first is answered. */
function twoPrompts() {
  const answered = Promise.withResolvers<void>()
  async function* prompt() {
    yield saying('First.')
    await answered.promise
    yield saying('Second.')
  }
  return { prompt: prompt(), answered: ({ type }: Untyped) => type === 'result' && answered.resolve() }
}

describe('an agent that Claude Code calls', () => {
  it('runs its tools, which are told in its turns', async () => {
    using tracing = traced()
    await askClaude(
      tracing.dispatcher,
      [{ toolCalls: [callsExpert] }, done],
      { ...withExpert, allowedTools: ['Agent', 'Bash'] },
      { others: { expert: [asks(bash('a'), bash('b')), { content: 'it is 42' }] } },
    )
    expect(tracing.tree()).toContain(
      [
        '  invoke_agent expert',
        '    step 0',
        '      chat expert',
        ...Array(2).fill('      execute_tool Bash'),
        '    step 1',
        '      chat expert',
      ].join('\n'),
    )
  })

  it('is asked for nothing more once a gate has ended its run', async () => {
    using tracing = traced()
    const gate: Gate = {
      id: 'ends',
      point: 'beforeToolCall',
      match: 'Bash',
      decide: () => deny('not here', { stop: true }),
    }
    tracing.dispatcher.use({ name: 'policy', gates: [gate] })
    const events = eventsOf(tracing.dispatcher)
    await askClaude(
      tracing.dispatcher,
      [{ toolCalls: [callsExpert] }, done],
      { ...withExpert, allowedTools: ['Agent', 'Bash'] },
      { others: { expert: [asks(bash('a')), { content: 'it is 42' }] } },
    )
    const ends = findAll(events, 'onComplete').map(({ agentName, reason, content }) => [
      agentName,
      reason,
      content,
    ])
    expect(ends).toEqual([
      ['expert', 'denied', undefined],
      ['claude', 'done', 'done'],
    ])
    expect(tracing.tree().match(/chat expert/g)).toHaveLength(1)
  })

  const decidedAt = async (point: GatePoint, decide: () => Decision) => {
    using tracing = traced()
    const ofExpert = ({ agentName }: Untyped) =>
      agentName === 'expert' || point === 'beforeCallAgent' ? decide() : undefined
    tracing.dispatcher.use({ name: 'policy', gates: [{ id: 'decides', point, decide: ofExpert }] })
    const events = eventsOf(tracing.dispatcher)
    const messages = await askClaude(
      tracing.dispatcher,
      [{ toolCalls: [callsExpert] }, done],
      { ...withExpert, allowedTools: ['Agent', 'Bash'] },
      { others: { expert: [asks(bash('a')), { content: 'it is 42' }] } },
    )
    const heard = JSON.stringify(
      messages.filter(({ type, parent_tool_use_id: of }) => type === 'user' && of === null),
    )
    return { heard, events, tree: tracing.tree() }
  }

  it.each([
    ['changes', () => mutate({ content: 'it is 43' })],
    ['answers for', () => skip('it is 43')],
  ])(
    'tells its caller what a gate at beforeComplete made of its last word, which it %s',
    async (_how, decide) => {
      const { heard, events } = await decidedAt('beforeComplete', decide)
      expect(heard).toContain('it is 43')
      expect(heard).not.toContain('it is 42')
      expect(findAll(events, 'afterCallAgent')).toMatchObject([{ content: 'it is 43', success: true }])
      const of = findAll(events, 'afterToolCall').filter(({ apiName }) => apiName === 'Agent')
      expect(of).toMatchObject([{ outcome: 'completed', content: expect.stringContaining('it is 43') }])
    },
  )

  it('tells its caller nothing of a last word that a gate withheld', async () => {
    const { heard, events } = await decidedAt('beforeComplete', () => deny('not for you'))
    expect(heard).toContain('not for you')
    expect(heard).not.toContain('it is 42')
    expect(findAll(events, 'afterCallAgent')).toEqual([])
    expect(findAll(events, 'onCallAgentError')).toHaveLength(1)
    const of = findAll(events, 'afterToolCall').filter(({ apiName }) => apiName === 'Agent')
    expect(of).toMatchObject([{ outcome: 'denied', reason: 'not for you' }])
  })

  it.each([
    ['is answered for', 'beforeCallAgent', () => skip('it is 43')],
    ['is to be asked what is no text', 'onStart', () => mutate([{ role: 'user', content: 'other' }])],
  ] as const)('is not called where it %s, and told as that', async (_how, point, decide) => {
    const { heard, events, tree } = await decidedAt(point, decide)
    expect(heard).toMatch(
      /A gate answered for the agent, which Claude Code cannot be given|Answer with a text/,
    )
    expect(tree).not.toContain('chat expert')
    expect(findAll(events, 'onCallAgentError')).toMatchObject([{ errorType: 'NOT_CAPABLE' }])
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ apiName: 'Agent', outcome: 'denied' }])
  })

  describe.each(['onStart', 'beforeCallAgent'] as const)('where a gate decides at %s', (point) => {
    const delegating = (decide: () => Decision) => decidedAt(point, decide)

    it('is not called where it denies, and the model hears why', async () => {
      const { heard, events, tree } = await delegating(() => deny('not this one'))
      expect(heard).toContain('not this one')
      expect(tree).not.toContain('chat expert')
      expect(findAll(events, 'afterToolCall')).toMatchObject([{ apiName: 'Agent', outcome: 'denied' }])
      expect(findAll(events, 'onComplete').at(-1)).toMatchObject({ agentName: 'claude', reason: 'done' })
    })

    it('is told what it makes of what it is asked', async () => {
      const { events } = await delegating(() => mutate('something else'))
      // By Claude Code's own word.
      expect(findAll(events, 'afterToolCall').at(-1)).toMatchObject({ result: { prompt: 'something else' } })
    })
  })

  it('asks a human in its turns', async () => {
    using tracing = traced()
    const canUseTool = async (_name: string, input: object) => ({ behavior: 'allow', updatedInput: input })
    await askClaude(
      tracing.dispatcher,
      [{ toolCalls: [callsExpert] }, done],
      { ...withExpert, allowedTools: ['Agent'], canUseTool },
      { others: { expert: [asks(bash('a', 'touch made')), { content: 'it is 42' }] } },
    )
    expect(tracing.tree()).toContain(
      ['    step 0', '      chat expert', '      execute_tool Bash', '      human_intervention'].join('\n'),
    )
  })
})

it('an agent that the user does not permit has failed, and did not run', async () => {
  using tracing = traced()
  const events = eventsOf(tracing.dispatcher)
  const hooks = {
    PreToolUse: [
      {
        hooks: [
          async () => ({
            hookSpecificOutput: {
              hookEventName: 'PreToolUse',
              permissionDecision: 'deny',
              permissionDecisionReason: 'nobody is to be asked',
            },
          }),
        ],
      },
    ],
  }
  await askClaude(tracing.dispatcher, [{ toolCalls: [callsExpert] }, done], { ...withExpert, hooks })
  const error = findAll(events, 'onCallAgentError').map(({ error }) => String(error))
  expect(error).toEqual([expect.stringMatching(/nobody is to be asked/)])
})

describe('a model call', () => {
  it.each([
    ['before it was read', { content: 'I', broken: true }],
    // Claude Code closes such a stream itself, in the model's place.
    ['in its first block', { content: 'I', cutAfterChunks: 3, chunkDelayMs: 300 }],
  ])(
    'that breaks off %s is told once, with the reply that came when it was asked again, whose tool runs',
    async (_, cut) => {
      using tracing = traced()
      await askClaude(tracing.dispatcher, [cut, asks(bash('a')), done], permitted)
      expect(tracing.tree()).toBe(
        [
          'invoke_agent claude',
          '  step 0',
          '    chat contract',
          '    execute_tool Bash',
          '  step 1',
          '    chat contract',
        ].join('\n'),
      )
    },
  )

  it.each([
    ['is told with it, and so is the one that goes on from there', 6, []],
    ['is told with it, and its tool runs', 12, ['    execute_tool Bash']],
  ])('that breaks off behind what Claude Code keeps %s', async (_, cutAfterChunks, ran) => {
    using tracing = traced()
    const events = eventsOf(tracing.dispatcher)
    const { id, name, args } = bash('a')
    const cut = {
      content: 'I',
      toolCalls: [{ id, name, arguments: args }],
      cutAfterChunks,
      chunkDelayMs: 200,
    }
    await askClaude(tracing.dispatcher, [cut, asks(bash('b')), done], permitted)
    expect(tracing.tree()).toBe(
      [
        'invoke_agent claude',
        '  step 0',
        '    chat contract',
        ...ran,
        '  step 1',
        '    chat contract',
        '    execute_tool Bash',
        '  step 2',
        '    chat contract',
      ].join('\n'),
    )
    expect(findAll(events, 'afterLlmCall')[0]?.response.content).toBe('I')
  })

  it('that fails is told as failed, and the next prompt has one of its own', async () => {
    using tracing = traced()
    const events = eventsOf(tracing.dispatcher)
    const { prompt, answered } = twoPrompts()
    const failing: ClaudeReply = { error: { status: 500, message: 'down' } }
    await askClaude(tracing.dispatcher, [failing, done], permitted, { prompt, onMessage: answered })
    expect(findAll(events, 'onLlmCallError').map(({ error }) => String(error))).toEqual([
      expect.stringMatching(/500 down/),
    ])
    expect(findAll(events, 'afterLlmCall').map(({ response }) => response.content)).toEqual(['done'])
  })

  it('ends with a prompt that is interrupted, and the next one has one of its own', async () => {
    using tracing = traced()
    const events = eventsOf(tracing.dispatcher)
    const { prompt, answered } = twoPrompts()
    let query: Untyped
    const late: ClaudeReply = { whenAsked: () => void query.interrupt() }
    const onMessage = (message: Untyped, run: Untyped) => {
      query = run
      answered(message)
    }
    await askClaude(tracing.dispatcher, [asks(bash('a')), late, done], permitted, { prompt, onMessage })
    expect(findAll(events, 'beforeLlmCall')).toHaveLength(3)
    expect(findAll(events, 'onLlmCallError').map(({ error }) => String(error))).toEqual([
      expect.stringMatching(/AbortError/),
    ])
    expect(findAll(events, 'afterLlmCall').at(-1)?.response.content).toBe('done')
  })
})
