import { type Agent, type AgentTool, type ExecAgentOptions, execAgent } from 'hookspan/agent'
import { deny, type Gate, type GatePoint, mutate, skip } from 'hookspan/gates'
import type { ScriptedStep } from 'hookspan/mock'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { recorded, scripted } from '../support/scripted-client.ts'

/** Lets the model make one call, and gives what it was told of it. */
async function callOnce(
  tool: Partial<AgentTool>,
  args: unknown = { id: 7 },
  options: Omit<Partial<ExecAgentOptions>, 'agent'> & { agent?: Partial<Agent>; name?: string } = {},
) {
  const { agent, name = 'act', ...rest } = options
  const { client, fetch } = scripted([
    { toolCalls: [{ id: 'a', name, arguments: args }] },
    { content: 'done' },
  ])
  const record = recorded()
  const run = await execAgent({
    prompt: 'go',
    client,
    dispatcher: record.dispatcher,
    ...rest,
    agent: { name: 'a', model: 'gpt-4o', tools: [{ name: 'act', execute: () => 'ok', ...tool }], ...agent },
  })
  const told = fetch.requests[1]?.messages.at(-1) as { role: string; content: string } | undefined
  return { run, told: told?.content, ...record, client, fetch }
}

class Lazy {
  then(resolve: (value: string) => void) {
    resolve('from a thenable')
  }
}

describe('what the model is told of a tool', () => {
  it.each([
    ['returns text', () => 'plain', 'plain'],
    ['returns an object', () => ({ a: [1] }), '{"a":[1]}'],
    ['returns nothing', () => undefined, ''],
    ['resolves', async () => 'later', 'later'],
    ['is a thenable', () => new Lazy(), 'from a thenable'],
    [
      'throws',
      () => {
        throw new Error('no seats')
      },
      'Error: no seats',
    ],
    [
      'rejects',
      async () => {
        throw new TypeError('bad id')
      },
      'Error: bad id',
    ],
    [
      'throws what is no error',
      () => {
        throw 'just text'
      },
      'Error: just text',
    ],
    [
      'yields progress',
      async function* () {
        yield 1
        yield 2
        return 'all'
      },
      'all',
    ],
    [
      'throws midway',
      async function* () {
        yield 1
        throw new Error('midway')
      },
      'Error: midway',
    ],
  ] satisfies [string, AgentTool['execute'], string][])('that %s', async (_name, execute, content) => {
    const { run, told, of, tree } = await callOnce({ execute })
    expect(told).toBe(content)
    expect(run).toMatchObject({ status: 'done', content: 'done' })
    const failed = content.startsWith('Error')
    expect(of(failed ? 'onToolCallError' : 'afterToolCall')).toHaveLength(1)
    expect(tree.lines()[3]).toBe(`    execute_tool act${failed ? ' (error)' : ''}`)
  })

  it.each([
    ['{"id": 7', 'The arguments of "act" are not a JSON object: `"{\\"id\\": 7"` (string).'],
    ['[7]', 'not a JSON object: `[7]` (array)'],
    ['"7"', 'not a JSON object: `"7"` (string)'],
    ['null', 'not a JSON object: `null`'],
  ])('whose arguments are %s: an error, and the run goes on', async (args, message) => {
    let ran = false
    const { run, told, of } = await callOnce(
      {
        execute: () => {
          ran = true
        },
        needsApproval: true,
      },
      args,
    )
    expect(told).toContain(message)
    expect(ran).toBe(false)
    expect(run.status).toBe('done')
    expect(of('onToolCallError')).toHaveLength(1)
    expect(of('beforeHumanIntervention')).toHaveLength(0)
  })

  it('takes no arguments for an empty object', async () => {
    const { told } = await callOnce({ execute: (args) => args }, '')
    expect(told).toBe('{}')
  })

  it('that does not exist: an error that names those that do', async () => {
    const { told, run, of } = await callOnce({}, {}, { name: 'fly' })
    expect(told).toBe('Error: There is no tool `"fly"` (string). Known: act.')
    expect(run.status).toBe('done')
    expect(of('onToolCallError')).toMatchObject([{ apiName: 'fly' }])
  })

  it('runs a call whose broken arguments a gate has mended, and asks about the mended ones', async () => {
    const gates = [{ id: 'mend', point: 'beforeToolCall' as const, decide: () => mutate({ id: 8 }) }]
    const { dispatcher } = recorded()
    dispatcher.use({ name: 'mend', gates })
    const asked: unknown[] = []
    const { told } = await callOnce({ execute: (args) => args, needsApproval: true }, '{"id"', {
      dispatcher,
      approver: async (request) => {
        asked.push(request.args)
        return { decision: 'approve' }
      },
    })
    expect(told).toBe('{"id":8}')
    expect(asked).toEqual([{ id: 8 }])
  })

  it('whose result is circular', async () => {
    const { told } = await callOnce({
      execute: () => {
        const self: Record<string, unknown> = { name: 'self', big: 1n }
        self.self = self
        return self
      },
    })
    expect(told).toBe('{"name":"self","big":"1","self":"[Circular]"}')
  })

  it('whose result has 50 MB: the model is told its first part, and how much is missing', async () => {
    const { told, run } = await callOnce({ execute: () => 'ä'.repeat(25_000_000) })
    expect(run).toMatchObject({ status: 'done', content: 'done' })
    expect(told).toMatch(
      /^ä{499999,500000}\n\[cut off: 50000000 bytes in all, the first 1000000 are shown\]$/,
    )
  })

  it('cuts results where the agent says, never inside of a character', async () => {
    const { told } = await callOnce({ execute: () => '👋🏽👋🏽' }, {}, { agent: { maxToolResultBytes: 5 } })
    expect(told).toBe('👋\n[cut off: 16 bytes in all, the first 5 are shown]')
  })
})

describe('parameters', () => {
  it('are JSON Schema as zod makes it, which has its schema hidden in it', async () => {
    const parameters = z.toJSONSchema(z.object({ id: z.number() })) as NonNullable<AgentTool['parameters']>
    const { told, fetch } = await callOnce({ parameters, execute: ({ id }) => id })
    expect(told).toBe('7')
    const offered = { name: 'act', parameters: JSON.parse(JSON.stringify(parameters)) }
    expect(fetch.requests[0]?.body.tools).toMatchObject([{ function: offered }])
  })

  // The model would be told what the library keeps inside of its schema, in which there is no argument.
  it.each([
    ['zod', z.object({ id: z.string() })],
    ['a function, as of ArkType', Object.assign(() => {}, { '~standard': { validate: () => ({}) } })],
  ])('refuses a schema that is not JSON: %s', async (_, schema) => {
    const parameters = schema as unknown as NonNullable<AgentTool['parameters']>
    const agent: Agent = { name: 'a', model: 'm', tools: [{ name: 't', parameters, execute: () => 1 }] }
    await expect(execAgent({ agent, prompt: 'x', client: scripted([]).client })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(
        /^Expected `parameters` of tool "t" of agent "a" to be JSON Schema, such as z\.toJSONSchema\(schema\), got/,
      ),
    })
  })
})

describe('needsApproval', () => {
  const execute: AgentTool['execute'] = (args) => ({ ran: args })

  it('runs the tool when the human approves, with the arguments the human edited', async () => {
    const approved = await callOnce({ execute, needsApproval: true }, undefined, {
      approver: async () => ({ decision: 'approve', approver: 'ann' }),
    })
    expect(approved.told).toBe('{"ran":{"id":7}}')
    expect(approved.of('afterHumanIntervention')).toMatchObject([{ action: 'approve', approver: 'ann' }])

    const edited = await callOnce({ execute, needsApproval: true }, undefined, {
      approver: { requestApproval: async () => ({ decision: 'edit', args: { id: 8 } }) },
    })
    expect(edited.told).toBe('{"ran":{"id":8}}')
  })

  it('tells the model of a rejection and its reason, and goes on', async () => {
    const { told, run } = await callOnce({ execute, needsApproval: true }, undefined, {
      approver: async () => ({ decision: 'reject', reason: 'too dear' }),
    })
    expect(told).toBe('{"rejected":true,"code":"rejected","reason":"too dear"}')
    expect(run.status).toBe('done')
  })

  it('ends the run when the human stops it', async () => {
    const { run, of, fetch } = await callOnce({ execute, needsApproval: true }, undefined, {
      approver: async () => ({ decision: 'reject', reason: 'stop it', stop: true }),
    })
    expect(run).toMatchObject({
      status: 'interrupted',
      reason: 'denied',
      denial: { code: 'rejected', reason: 'stop it' },
    })
    expect(of('onStopByHumanIntervention')).toHaveLength(1)
    expect(of('onComplete')).toMatchObject([{ reason: 'denied' }])
    expect(fetch.requests).toHaveLength(1)
  })

  it('asks only where a predicate of the arguments says so', async () => {
    const asked: unknown[] = []
    const tool = { execute, needsApproval: ({ id }: Record<string, unknown>) => Number(id) > 10 }
    const approver = async (request: { args: unknown }) => {
      asked.push(request.args)
      return { decision: 'approve' as const }
    }
    await callOnce(tool, { id: 7 }, { approver })
    await callOnce(tool, { id: 11 }, { approver })
    expect(asked).toEqual([{ id: 11 }])
  })

  it.each([
    ['nobody can be asked', {}, 'no_approver'],
    ['the approver throws', { approver: async () => Promise.reject(new Error('down')) }, 'approval_error'],
    ['time runs out', { approver: () => new Promise<never>(() => {}) }, 'approval_timeout'],
  ])('denies when %s', async (_name, options, code) => {
    let ran = false
    const { told, run } = await callOnce(
      {
        execute: () => {
          ran = true
        },
        needsApproval: true,
        approval: { timeoutMs: 20 },
      },
      {},
      options as Partial<ExecAgentOptions>,
    )
    expect(told).toContain(`"code":"${code}"`)
    expect(ran).toBe(false)
    expect(run.status).toBe('done')
  })

  it('denies when the predicate throws', async () => {
    const { told } = await callOnce({
      execute,
      needsApproval: () => {
        throw new Error('cannot tell')
      },
    })
    expect(told).toContain('gate_error')
  })
})

describe('gates on an agent', () => {
  it('deny a call: the model is told and goes on; with stop, the run ends', async () => {
    const decide = (stop: boolean) => () => deny('not today', { code: 'closed', stop })
    for (const stop of [false, true]) {
      const { dispatcher, of } = recorded()
      dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeToolCall', decide: decide(stop) }] })
      const { run, told } = await callOnce({}, {}, { dispatcher })
      expect(run.reason).toBe(stop ? 'denied' : 'done')
      if (!stop) expect(told).toBe('{"denied":true,"code":"closed","reason":"not today"}')
      if (stop) expect(run.denial).toEqual({ code: 'closed', reason: 'not today' })
      expect(of('onComplete')).toHaveLength(1)
    }
  })

  it('refuse the whole run at its start, and stand in for the model', async () => {
    const { dispatcher, tree } = recorded()
    const undo = dispatcher.use({
      name: 'g',
      gates: [{ id: 'g', point: 'onStart', decide: () => deny('closed') }],
    })
    const { run, fetch } = await callOnce({}, {}, { dispatcher })
    expect(run).toMatchObject({
      status: 'interrupted',
      reason: 'denied',
      steps: 0,
      denial: { reason: 'closed' },
    })
    expect(fetch.requests).toHaveLength(0)
    undo[Symbol.dispose]()

    dispatcher.use({
      name: 'h',
      gates: [{ id: 'h', point: 'beforeLlmCall', decide: () => deny('no model today') }],
    })
    const refused = await callOnce({}, {}, { dispatcher })
    expect(refused.run).toMatchObject({ status: 'done', content: 'no model today' })
    expect(refused.fetch.requests).toHaveLength(0)
    expect(tree.lines().join()).not.toContain('!ended')
  })
})

describe('gates at the two ends of a run', () => {
  const gateAt = (point: GatePoint, decide: Gate['decide']) => {
    const { dispatcher, of } = recorded()
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point, decide }] })
    return { dispatcher, of }
  }

  it.each(['chat', 'responses'] as const)('change what the model is asked: %s', async (api) => {
    const asked = async (input: object, payload: unknown) => {
      const { client, fetch } = scripted([{ content: 'ok' }])
      const { dispatcher } = gateAt('onStart', () => mutate(payload))
      await execAgent({ agent: { name: 'a', model: 'm', api }, client, dispatcher, ...input })
      return fetch.requests[0]?.messages
    }
    const user = (content: string) => ({ role: 'user', content })
    const old = [user('before')]
    expect(await asked({ prompt: 'mail ann@example.org' }, 'mail [email]')).toEqual([user('mail [email]')])
    expect(await asked({ prompt: 'x', messages: old }, 'y')).toEqual([user('before'), user('y')])
    expect(await asked({ messages: old }, [user('other')])).toEqual([user('other')])
    expect(await asked({ prompt: 'x', messages: old }, [user('other')])).toEqual([user('other')])
  })

  it.each(['chat', 'responses'] as const)('give the outcome its last form: %s', async (api) => {
    const ended = async (decide: Gate['decide']) => {
      const { client } = scripted([{ content: 'a secret' }])
      const { dispatcher, of } = gateAt('beforeComplete', decide)
      const agent = { name: 'a', model: 'm', api }
      const run = await execAgent({ agent, prompt: 'tell', client, dispatcher })
      const [completion] = of('onComplete')
      return { run, completion, conversation: JSON.stringify(run.messages) }
    }
    for (const decision of [mutate({ content: 'no comment' }), skip('no comment')]) {
      const { run, completion, conversation } = await ended(() => decision)
      expect(run).toMatchObject({ status: 'done', reason: 'done', content: 'no comment' })
      expect(completion).toMatchObject({ reason: 'done', content: 'no comment' })
      expect(conversation).toContain('no comment')
      expect(conversation).not.toContain('secret')
    }
    const { run, completion, conversation } = await ended(() => deny('not fit to show', { code: 'unfit' }))
    expect(run).toMatchObject({
      status: 'interrupted',
      reason: 'denied',
      content: '',
      denial: { code: 'unfit', reason: 'not fit to show' },
    })
    expect(completion).toMatchObject({ reason: 'denied' })
    expect(conversation).not.toContain('secret')
    expect(run.messages).toHaveLength(1)
  })
})

describe('a run that is aborted', () => {
  const endless = { latencyMs: 60_000 }
  const cases: [string, ScriptedStep[], string[]][] = [
    ['before it starts', [], []],
    ['in the model', [{ content: 'x', ...endless }], ['  step 0 (error)', '    chat gpt-4o (error)']],
    [
      'in a tool',
      [{ toolCalls: [{ name: 'act' }] }],
      ['  step 0', '    chat gpt-4o', '    execute_tool act (error)'],
    ],
    [
      'in a stream',
      [{ content: 'one two three four five six', chunkDelayMs: 50 }],
      ['  step 0 (error)', '    chat gpt-4o (abandoned)'],
    ],
  ]

  it.each(cases)('ends at once as interrupted, everything paired: %s', async (where, steps, below) => {
    const { client, fetch } = scripted(steps)
    const { dispatcher, tree, of } = recorded()
    const controller = new AbortController()
    const abort = () => controller.abort()
    if (where === 'before it starts') abort()
    let aborted = 0
    const act: AgentTool = {
      name: 'act',
      execute: (_args, { signal }) => {
        signal.addEventListener('abort', () => aborted++)
        setImmediate(abort)
        return new Promise(() => {})
      },
    }
    const running = execAgent({
      agent: { name: 'a', model: 'gpt-4o', stream: where === 'in a stream', tools: [act] },
      prompt: 'go',
      client,
      dispatcher,
      signal: controller.signal,
      onText: abort,
    })
    if (where === 'in the model') {
      await expect.poll(() => fetch.requests).toHaveLength(1)
      abort()
    }

    const run = await running

    expect(run).toMatchObject({ status: 'interrupted', reason: 'interrupted' })
    expect(run.error).toBeUndefined()
    expect(tree.lines()).toEqual(['invoke_agent a', ...below])
    expect(of('onComplete')).toMatchObject([{ reason: 'interrupted' }])
    expect(of('onError')).toHaveLength(0)
    expect(aborted).toBe(where === 'in a tool' ? 1 : 0)
  })
})
