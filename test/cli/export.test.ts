/** `hookspan export` of runs that were really made: the test that it writes is run by vitest as it is. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { HookDispatcher } from 'hookspan'
import { currentCalls } from 'hookspan/adapter'
import { type Agent, type ExecAgentOptions, execAgent } from 'hookspan/agent'
import { deny } from 'hookspan/gates'
import { callTool, callTools, type ModelStep, scriptedModel } from 'hookspan/mock'
import { loopGuard } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callCli } from '../support/call-cli.ts'
import { runCli } from '../support/run-cli.ts'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post } from '../viewer/support.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** A project of its own, as a user has one. */
const project = mkdtempSync(join(tmpdir(), 'hookspan-export-'))
let viewer: Viewer
let refundTrace = ''
let teamTrace = ''

const AGENT = `import type { Agent } from 'hookspan/agent'
import { deny } from 'hookspan/gates'

const live = () => Promise.reject(new Error('the real tool ran'))
export const support: Agent = {
  name: 'support',
  model: 'gpt-4o',
  instructions: 'Refund what was paid twice.',
  tools: [
    { name: 'find_order', parameters: { type: 'object', properties: { id: { type: 'string' } } }, execute: live },
    {
      name: 'refund',
      parameters: { type: 'object', properties: { id: { type: 'string' }, amount: { type: 'number' } } },
      needsApproval: ({ amount }) => Number(amount) > 50,
      execute: live,
    },
    { name: 'drop_table', execute: live },
  ],
  gates: [
    {
      id: 'no-drops',
      point: 'beforeToolCall',
      decide: ({ apiName }) => (apiName === 'drop_table' ? deny('Nothing is dropped.', { code: 'policy' }) : undefined),
    },
  ],
}
`

beforeAll(async () => {
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(ROOT, join(project, 'node_modules', 'hookspan'))
  symlinkSync(join(ROOT, 'node_modules', 'vitest'), join(project, 'node_modules', 'vitest'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(project, 'support.ts'), AGENT)
  viewer = await startViewer({ port: 0, db: join(project, 'traces.db') })
  const world = {
    find_order: { id: '7', total: 20, paid: 400, note: 'a `note` of \\ "Ines"' },
    refund: { ok: true },
  }
  const tool = (name: keyof typeof world, more: object = {}) => ({
    name,
    execute: () => world[name],
    ...more,
  })
  const support: Agent = {
    name: 'support',
    model: 'gpt-4o',
    instructions: 'Refund what was paid twice.',
    tools: [
      tool('find_order', { parameters: { type: 'object', properties: { id: { type: 'string' } } } }),
      tool('refund', { needsApproval: ({ amount }: { amount: number }) => amount > 50 }),
      { name: 'drop_table', execute: () => 'dropped' },
    ],
    gates: [
      {
        id: 'no-drops',
        point: 'beforeToolCall',
        decide: ({ apiName }) =>
          apiName === 'drop_table' ? deny('Nothing is dropped.', { code: 'policy' }) : undefined,
      },
    ],
  }
  refundTrace = await record(support, 'Order 7 was charged twice', [
    callTools(['find_order', { id: '7' }], ['drop_table', {}]),
    callTool('refund', { id: '7', amount: 380 }),
    callTool('refund', { id: '7', amount: 20 }),
    'You get 400 € back.',
  ])
  let tries = 0
  const researcher: Agent = {
    name: 'researcher',
    description: 'Looks things up.',
    model: 'gpt-4o-mini',
    tools: [
      {
        name: 'fetch_page',
        execute: () => {
          if (tries++ === 0) throw new Error('connect ECONNREFUSED')
          return 'Fares are refunded.'
        },
      },
    ],
  }
  const team: Agent = { name: 'team', model: 'gpt-4o', subAgents: [researcher], tools: [tool('find_order')] }
  teamTrace = await record(team, 'What is refunded?', [
    callTool('researcher', { instruction: 'Look it up' }),
    callTool('fetch_page', { url: 'a' }),
    callTool('fetch_page', { url: 'a' }),
    'Fares are.',
    callTool('find_order', {}),
    'Fares are refunded.',
  ])
  await post(viewer, sampleRun())
})
afterAll(async () => {
  await viewer.close()
  rmSync(project, { recursive: true })
})

/** Runs it for real, but for the model, and with a human who approves. @returns its trace id */
async function record(
  agent: Agent,
  prompt: string,
  steps: ModelStep[],
  more: Partial<ExecAgentOptions> = {},
): Promise<string> {
  const dispatcher = new HookDispatcher()
  const tracing = startTracing({ endpoint: viewer.otlpEndpoint, captureContent: true })
  dispatcher.use(tracing)
  using client = scriptedModel(steps)
  const approver = async () => ({ decision: 'approve' as const, approver: 'ines' })
  const before = new Set(viewer.store.listRuns('', { limit: 100, offset: 0 }).runs.map((run) => run.traceId))
  await execAgent({ agent, prompt, dispatcher, client, approver, ...more })
  await tracing.shutdown()
  const { runs } = viewer.store.listRuns('', { limit: 100, offset: 0 })
  return runs.find((run) => !before.has(run.traceId))!.traceId
}

async function hookspan(...args: string[]) {
  const { code, stdout, stderr } = await callCli([...args, '--url', viewer.url], { cwd: project })
  expect([code, code === 0 || stderr]).toEqual([0, true])
  return { stdout, stderr }
}

/** @returns whether they pass, and what vitest said. */
async function runTests(...files: string[]): Promise<{ passed: boolean; said: string }> {
  const env = { ...process.env, CI: 'true', NO_COLOR: '1' }
  // The inner vitest must not take itself for a worker of this one.
  for (const name of Object.keys(env))
    if (/^VITEST|^NODE_ENV$|^NODE_OPTIONS$/.test(name)) delete env[name as never]
  // A file that is ours to wait for, on a machine that may be busy.
  const patience = '--testTimeout=120000'
  const args = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', patience, '--root', project, ...files]
  return promisify(execFile)(process.execPath, args, { cwd: project, env }).then(
    ({ stdout }) => ({ passed: true, said: stdout }),
    (error: { stdout: string; stderr: string }) => ({ passed: false, said: error.stdout + error.stderr }),
  )
}

it('as a vitest file passes at once: tools, refusals, humans, sub-agents and failures as they were', async () => {
  await hookspan('export', refundTrace, '-f', 'vitest', '-o', 'refund.test.ts')
  await hookspan('export', teamTrace.slice(0, 8), '-f', 'vitest', '-o', 'team.test.ts')
  expect(await runTests('refund.test.ts', 'team.test.ts')).toMatchObject({
    passed: true,
    said: expect.stringMatching(/Tests +2 passed/),
  })
  const text = readFileSync(join(project, 'refund.test.ts'), 'utf8')
  expect(text).toContain('mock("find_order").whenExactly({"id":"7"}).returns({"id":"7","total":20')
  expect(text).toContain('human("refund").by("ines").approves()')
})

it('with --agent passes at once, and fails when the agent changes', async () => {
  const { stderr } = await hookspan(
    'export',
    refundTrace,
    '-f',
    'vitest',
    '-o',
    'own.test.ts',
    '--agent',
    './support.ts#support',
  )
  expect(stderr).toContain('"drop_table" was denied by gate "no-drops"')
  expect(await runTests('own.test.ts')).toMatchObject({ passed: true })

  const changes: [string, string, RegExp][] = [
    ["name: 'refund'", "name: 'pay_back'", /refund/],
    ['> 50', '> 500', /human/],
    ["=== 'drop_table'", "=== 'drop_all'", /drop_table/],
    ["model: 'gpt-4o',", "model: 'gpt-4o', maxSteps: 2,", /never asked for/],
  ]
  for (const [before, after, said] of changes) {
    expect(AGENT).toContain(before)
    writeFileSync(join(project, 'support.ts'), AGENT.replace(before, after))
    const changed = await runTests('own.test.ts')
    expect([after, changed.passed]).toEqual([after, false])
    expect(changed.said).toMatch(said)
  }
  writeFileSync(join(project, 'support.ts'), AGENT)
  expect(await runTests('own.test.ts')).toMatchObject({ passed: true })
})

it('with --run tests what a function runs, in a folder of its own', async () => {
  writeFileSync(
    join(project, 'ask.ts'),
    `import { execAgent } from 'hookspan/agent'
import { support } from './support.ts'
export const ask = (asked: object) => execAgent({ agent: support, ...asked })
`,
  )
  mkdirSync(join(project, 'tests'))
  await hookspan('export', refundTrace, '-f', 'vitest', '-o', 'tests/ask.test.ts', '--run', './ask.ts#ask')
  expect(readFileSync(join(project, 'tests/ask.test.ts'), 'utf8')).toContain('from "../ask.ts"')
  expect(await runTests('tests/ask.test.ts')).toMatchObject({ passed: true })
})

it('of several runs is one file', async () => {
  const { stdout } = await hookspan('export', 'agent:team', 'agent:team', '-f', 'vitest')
  expect(stdout.match(/^test\(/gm)).toHaveLength(1)
  await hookspan('export', 'tool:find_order', '-f', 'vitest', '-o', 'both.test.ts')
  expect(await runTests('both.test.ts')).toMatchObject({ said: expect.stringMatching(/Tests +2 passed/) })
})

it('of a run that was stopped, denied, left unanswered, or begun by the agent passes at once, too', async () => {
  const pay = { name: 'pay', execute: () => 'paid' }
  const payer: Agent = { name: 'payer', model: 'gpt-4o', tools: [pay] }
  const stop: NonNullable<Agent['gates']>[number] = {
    id: 'enough',
    point: 'beforeToolCall',
    decide: () => deny('No more today.', { code: 'policy', stop: true }),
  }
  const asking = { ...pay, needsApproval: true, approval: { timeoutMs: 20 } }
  const never = () => new Promise<never>(() => {})
  const hello = { role: 'assistant', content: 'Hello, what is it?' } as const
  const traces = [
    await record({ ...payer, maxSteps: 2 }, 'Pay twice', [
      callTool('pay', { n: 1 }),
      callTool('pay', { n: 2 }),
    ]),
    await record({ ...payer, gates: [stop] }, 'Pay again', [callTool('pay')]),
    await record({ ...payer, tools: [asking] }, 'Ask nobody', [callTool('pay'), 'Nobody is there.'], {
      approver: never,
    }),
  ]
  const says = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] })
  const chat = (number: number, input: object[], output: object) => ({
    traceId: 'a7'.repeat(16),
    spanId: id(number),
    parentSpanId: id(1),
    name: 'chat',
    start: number * 10,
    end: number * 10 + 5,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.input.messages': JSON.stringify(input),
      'gen_ai.output.messages': JSON.stringify([output]),
    },
  })
  const greeting = says('assistant', hello.content)
  const question = says('user', 'Look into it.')
  // A model that writes its calls as text, and is told what they gave as if the user had said it.
  await post(
    viewer,
    otlp([
      {
        traceId: 'a7'.repeat(16),
        spanId: id(1),
        name: 'invoke_agent shell',
        end: 100,
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'shell' },
      },
      chat(2, [says('system', 'Be kind.')], greeting),
      chat(3, [greeting, question], says('assistant', 'ls')),
      {
        traceId: 'a7'.repeat(16),
        spanId: id(4),
        parentSpanId: id(1),
        name: 'execute_tool ls',
        start: 36,
        end: 38,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'ls',
          'gen_ai.tool.call.arguments': '{}',
          'gen_ai.tool.call.result': 'a.txt',
        },
      },
      chat(
        5,
        [greeting, question, says('assistant', 'ls'), says('user', 'a.txt')],
        says('assistant', 'One.'),
      ),
    ]),
  )
  traces.push('a7'.repeat(16))
  const files = traces.map((_trace, index) => `ended-${index}.test.ts`)
  for (const [index, trace] of traces.entries())
    await hookspan('export', trace, '-f', 'vitest', '-o', files[index]!)
  expect(await runTests(...files)).toMatchObject({
    passed: true,
    said: expect.stringMatching(/Tests +4 passed/),
  })
})

it('of calls that no model asked for, inside of tools and beside them, passes at once, and says so', async () => {
  const lookup = (args: object) => currentCalls()?.toolCall({ apiName: 'lookup', args }, () => 1)
  const asks: Agent = {
    name: 'asks',
    model: 'gpt-4o',
    tools: [
      {
        name: 'ask',
        execute: async () => {
          await lookup({})
          // What a tool asks a model is the tool's own.
          await currentCalls()?.llmCall({ model: 'gpt-4o-mini', request: { messages: [] } }, () => ({
            choices: [{ message: { role: 'assistant', content: 'inside' } }],
          }))
          return 'asked'
        },
      },
    ],
  }
  const trace = await record(asks, 'Ask', [callTool('ask', {}), 'Asked.'])

  // The user's own hands, in a recording of both.
  const dual = 'b8'.repeat(16)
  const span = (number: number, name: string, attributes: Record<string, string>) => ({
    ...{ traceId: dual, spanId: id(number), name, start: number * 10, end: number * 10 + 5, attributes },
    ...(number > 1 && { parentSpanId: id(1) }),
  })
  const says = (role: string, ...parts: object[]) => ({ role, parts })
  const text = (content: string) => ({ type: 'text', content })
  const asked = { type: 'tool_call', id: 'c1', name: 'find_line', arguments: { id: 'L1' } }
  const found = { type: 'tool_call_response', id: 'c1', response: 'found' }
  const chat = (number: number, input: object[], output: object) =>
    span(number, 'chat gpt-4o', {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.input.messages': JSON.stringify(input),
      'gen_ai.output.messages': JSON.stringify([output]),
    })
  const call = (number: number, name: string, callId: string, args: object) =>
    span(number, `execute_tool ${name}`, {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.call.arguments': JSON.stringify(args),
      'gen_ai.tool.call.result': '"found"',
    })
  const input = [says('user', text('My phone is offline'))]
  const history = [...input, says('assistant', asked), says('tool', found)]
  const toggle = says('assistant', text('Toggle it, please'))
  await post(
    viewer,
    otlp([
      {
        ...span(1, 'invoke_agent telecom', {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'telecom',
        }),
        end: 100,
      },
      chat(2, input, says('assistant', asked)),
      call(3, 'find_line', 'c1', { id: 'L1' }),
      chat(4, history, toggle),
      call(5, 'toggle_data', 'u1', {}),
      chat(6, [...history, toggle, says('user', text('It works'))], says('assistant', text('Fine.'))),
    ]),
  )
  await hookspan('export', trace, '-f', 'vitest', '-o', 'inside.test.ts')
  const { stderr } = await hookspan('export', dual, '-f', 'vitest', '-o', 'beside.test.ts')
  expect(stderr).toContain('"toggle_data", which was called and not asked for')
  expect(await runTests('inside.test.ts', 'beside.test.ts')).toMatchObject({
    passed: true,
    said: expect.stringMatching(/Tests +2 passed/),
  })
})

it('of equal calls that were decided otherwise, and of arguments that a person changed, passes at once', async () => {
  const pay = { name: 'pay', execute: () => 'paid' }
  const guard = loopGuard({ maxRepeats: 1, stopAfter: 5 })
  const again = callTool('pay', { n: 1 })
  const looping: Agent = { name: 'looping', model: 'gpt-4o', tools: [pay], gates: [guard] }
  const large = { ...pay, needsApproval: ({ n }: { n: number }) => n > 50 }
  const edited: Agent = { name: 'edited', model: 'gpt-4o', tools: [large] }
  const traces = [
    await record(looping, 'Pay and pay', [again, again, again, 'Paid.']),
    await record(edited, 'Pay 90', [callTool('pay', { n: 90 }), callTool('pay', { n: 9 }), 'Paid.'], {
      approver: async () => ({ decision: 'edit', args: { n: 50 }, approver: 'ines' }),
    }),
  ]
  for (const [index, trace] of traces.entries())
    await hookspan('export', trace, '-f', 'vitest', '-o', `decided-${index}.test.ts`)
  expect(await runTests('decided-0.test.ts', 'decided-1.test.ts')).toMatchObject({
    passed: true,
    said: expect.stringMatching(/Tests +2 passed/),
  })
})

it('leaves a run out that no test can repeat, and says so; alone it is refused', async () => {
  const signal = AbortSignal.timeout(30)
  const hangs = { name: 'hang', execute: () => new Promise(() => {}) }
  const trace = await record(
    { name: 'halted', model: 'gpt-4o', tools: [hangs] },
    'Wait',
    [callTool('hang')],
    {
      signal,
    },
  )
  const why = `Run ${trace} was interrupted from outside of it`
  const alone = await runCli(['export', trace, '-f', 'vitest', '--url', viewer.url], { cwd: project })
  expect([alone.code, alone.stderr]).toEqual([expect.any(Number), expect.stringContaining(why)])
  expect(alone.code).not.toBe(0)
  await record({ name: 'halted', model: 'gpt-4o' }, 'Do not wait', ['Done.'])
  const { stderr } = await hookspan('export', 'agent:halted', '-f', 'vitest', '-o', 'halted.test.ts')
  expect(stderr).toContain(`Left out: ${why}`)
  expect(readFileSync(join(project, 'halted.test.ts'), 'utf8')).toContain(`// Left out: ${why}`)
  expect(await runTests('halted.test.ts')).toMatchObject({ said: expect.stringMatching(/Tests +1 passed/) })
})

it('as a data set is a line for each run of the query', async () => {
  const { stdout } = await hookspan('export', 'tool:find_order', '-f', 'jsonl')
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map((line) => line.id).sort()).toEqual([refundTrace, teamTrace].sort())
  const refund = lines.find((line) => line.id === refundTrace)
  expect(refund).toMatchObject({
    agent: 'support',
    input: 'Order 7 was charged twice',
    output: 'You get 400 € back.',
    mark: '',
  })
  expect(refund.messages.map((message: { role: string }) => message.role)).toEqual(
    'system user assistant tool tool assistant tool assistant tool assistant'.split(' '),
  )
  expect(refund.calls.map((call: { tool: string; outcome: string }) => [call.tool, call.outcome])).toEqual([
    ['find_order', 'completed'],
    ['drop_table', 'denied'],
    ['refund', 'completed'],
    ['refund', 'completed'],
  ])
  expect(refund.tools).toHaveLength(3)
})

it('as OTLP is taken in again by another viewer, the same', async () => {
  const other = await startViewer({ port: 0, db: ':memory:' })
  try {
    const { stdout } = await hookspan('export', 'service:airline-support', '-f', 'otlp')
    expect((await post(other, stdout)).status).toBe(200)
    const was = viewer.store.run(SAMPLE_TRACE)!
    const is = other.store.run(SAMPLE_TRACE)!
    expect(is.summary).toEqual(was.summary)
    expect(is.rows).toEqual(was.rows)
  } finally {
    await other.close()
  }
})

it('as Markdown has the size that was asked for, and what matters most', async () => {
  const whole = (await hookspan('export', SAMPLE_TRACE, '-f', 'markdown')).stdout
  expect(whole).toContain('# Run of support: with errors (done)')
  expect(whole).toContain('Please cancel my flight to Lisbon')
  expect(whole).toContain('### researcher › tool fetch_page: errored')
  const short = (await hookspan('export', SAMPLE_TRACE, '-f', 'markdown', '--max-chars', '3000')).stdout
  expect(short.length).toBeLessThanOrEqual(3_000)
  expect(short).toContain('Please cancel my flight to Lisbon')
  expect(short).toContain('is cancelled. You get')
  expect(short).toContain(`hookspan show ${SAMPLE_TRACE} -c`)
})

it('as Markdown has where the failure was thrown', async () => {
  const traceId = 'dead'.padEnd(32, '0')
  const stack = 'Error: no such order\n    at find (/srv/agent/orders.js:7:1)'
  const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'hookspan.operation.reason': 'error' }
  const events = [{ name: 'exception', attributes: { 'exception.stacktrace': stack } }]
  await post(viewer, otlp([{ traceId, spanId: id(1), error: 'no such order', attributes, events }]))
  const { stdout } = await hookspan('export', traceId, '-f', 'markdown')
  expect(stdout).toContain(`Thrown at:\n\n\`\`\`\n${stack}\n\`\`\``)
})

it('says what is wrong with what it was asked', async () => {
  const refused = async (...args: string[]) => {
    const { code, stderr } = await callCli(['export', ...args, '--url', viewer.url], { cwd: project })
    expect(code).not.toBe(0)
    return stderr
  }
  expect(await refused('-f', 'vitets')).toContain('Did you mean `vitest`?')
  expect(await refused('-f', 'otlp', '--agent', './a.ts#a')).toContain('are for --format vitest')
  expect(await refused('-f', 'vitest', '--agent', './a.ts')).toContain(
    'such as ./src/agent.ts#support, got `./a.ts`',
  )
  expect(await refused('agent:nobody', '-f', 'vitest')).toContain('No run matches')
  expect(await refused('agent:nobody', '-f', 'jsonl')).toContain('No run matches')
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' }
  await post(viewer, otlp([{ traceId: 'e'.repeat(32), spanId: id(1), name: 'chat', attributes }]))
  expect(await refused('eeee', '-f', 'vitest')).toContain('captureContent: true')
})
