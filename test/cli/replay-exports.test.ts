import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { countRuns, parseRecordings, type RecordedRun } from '../../src/cli/replay/recordings/index.ts'
import { replayRun } from '../../src/cli/replay/replay-run.ts'
import { ServedTurns } from '../../src/cli/replay/served-turns.ts'
import { scriptedFetch } from '../../src/mock/scripted-server/index.ts'
import {
  EXPORTED,
  langfuseLines,
  langfuseObservations,
  langSmithRuns,
  phoenixRows,
  phoenixSpans,
} from '../support/exported-runs.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { traced } from '../support/span-tree.ts'

const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n')
const inside = (parent: object | undefined, children: readonly object[]) =>
  JSON.stringify({ ...parent, child_runs: children })

/** The spans of a replay, in the order in which they began. */
async function replay(run: RecordedRun) {
  const turns = new ServedTurns()
  const client = new OpenAI({
    apiKey: 'x',
    fetch: scriptedFetch({ respond: turns.respond, recordRequests: false }),
  })
  using tracing = traced({ captureContent: true })
  turns.add('op', run)
  await replayRun(run, { dispatcher: tracing.dispatcher, client, operationId: 'op', captureContent: true })
  return tracing.spans().sort((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
}

describe('an export of a backend', () => {
  it.each<[string, string]>([
    ['langsmith: a query', JSON.stringify({ runs: langSmithRuns })],
    ['langsmith: one run a line, in any order', lines([...langSmithRuns].reverse())],
    ['langsmith: runs inside of their parents', inside(langSmithRuns[0], langSmithRuns.slice(1))],
    [
      'langfuse: the download of a trace',
      JSON.stringify({ trace: { id: 'lf-trace' }, observations: langfuseObservations }),
    ],
    ['langfuse: a trace of the API', JSON.stringify({ id: 'lf-trace', observations: langfuseObservations })],
    ['langfuse: observations of the API', JSON.stringify({ data: langfuseObservations, meta: {} })],
    ['langfuse: the export of the table', langfuseLines],
    ['phoenix: spans of the API', JSON.stringify({ data: phoenixSpans, next_cursor: null })],
    ['phoenix: one span a line', lines(phoenixSpans)],
    [
      'phoenix: a trace of the command line',
      JSON.stringify({ traceId: 'a'.repeat(32), spans: phoenixSpans }),
    ],
    ['phoenix: a table of spans', lines(phoenixRows)],
  ])('%s: is the conversation that it tells of', async (what, text) => {
    const [run, ...others] = parseRecordings(text, 'export.json')
    expect(others).toEqual([])
    expect(run).toMatchObject({
      ...{ format: what.split(':')[0], systemPrompt: EXPORTED.SYSTEM, userPrompt: EXPORTED.QUESTION },
      agentName: 'support',
    })
    expect(countRuns([run!])).toMatchObject({
      ...{ assistantTurns: 2, userMessages: 1, toolCalls: 1, toolResults: 1, failedCalls: 0 },
      toolCallsByName: { get_weather: 1 },
    })

    const spans = await replay(run!)
    const chats = spans.filter(({ name }) => name.startsWith('chat '))
    const tools = spans.filter(({ name }) => name.startsWith('execute_tool '))
    expect(spans[0]?.name).toBe('invoke_agent support')
    expect(chats.map(({ attributes }) => attributes)).toMatchObject([
      {
        ...{ 'gen_ai.response.model': 'gpt-4o-2024-08-06', 'gen_ai.usage.input_tokens': 20 },
        'gen_ai.usage.cache_read.input_tokens': 4,
      },
      { 'gen_ai.response.model': 'gpt-4o-2024-08-06', 'gen_ai.usage.input_tokens': 40 },
    ])
    expect(String(chats[1]?.attributes['gen_ai.output.messages'])).toContain(EXPORTED.ANSWER)
    const sent = JSON.parse(String(chats[1]?.attributes['gen_ai.input.messages']))
    expect(sent.map(({ role }: { role: string }) => role)).toEqual(['system', 'user', 'assistant', 'tool'])
    expect(tools.map(({ attributes }) => JSON.parse(String(attributes['gen_ai.tool.call.result'])))).toEqual([
      JSON.parse(EXPORTED.RESULT),
    ])
    expect(JSON.parse(String(tools[0]?.attributes['gen_ai.tool.call.arguments']))).toEqual(EXPORTED.ARGS)
  })

  it('fails where the recorded model and tool failed, and goes on', async () => {
    const broken = structuredClone(langfuseObservations) as Record<string, unknown>[]
    Object.assign(broken[2]!, { level: 'ERROR', statusMessage: 'no such city', output: null })
    broken.splice(3, 0, {
      ...{ ...broken[1], id: 'lf-4', output: null, level: 'ERROR', statusMessage: 'overloaded' },
      ...{ startTime: broken[2]!.endTime, endTime: broken[3]!.startTime, usageDetails: {}, costDetails: {} },
    })
    const [run] = parseRecordings(JSON.stringify(broken), 'export.json')
    const spans = await replay(run!)
    const failed = spans.filter(({ status }) => status.code === 2)
    expect(failed.map(({ name }) => name)).toEqual(['execute_tool get_weather', 'chat gpt-4o-2024-08-06'])
    expect(failed[1]?.status.message).toContain('overloaded')
    expect(spans[0]?.attributes['hookspan.operation.reason']).toBe('done')
  })

  it('marks a result that it does not hold as invented, and no other', async () => {
    const bare = structuredClone(langfuseObservations) as Record<string, unknown>[]
    bare[2]!.output = null
    bare[3]!.input = null
    const [run] = parseRecordings(JSON.stringify(bare), 'export.json')
    const marked = (await replay(run!)).filter(({ attributes }) => attributes['hookspan.replay.invented'])
    expect(marked.map(({ name }) => name)).toEqual(['execute_tool get_weather'])
    expect(run?.notes ?? []).toEqual([])

    const [whole] = parseRecordings(JSON.stringify(langfuseObservations), 'export.json')
    expect((await replay(whole!)).filter(({ attributes }) => attributes['hookspan.replay.invented'])).toEqual(
      [],
    )
  })

  it('takes calls of models that nested instrumentation tells twice once, and says what is inside of tools', () => {
    const nested = structuredClone(phoenixSpans)
    nested.push(
      {
        ...structuredClone(nested[1]!),
        parent_id: 'ph-1',
        context: { ...nested[1]!.context, span_id: 'ph-4' },
      },
      {
        ...structuredClone(nested[1]!),
        parent_id: 'ph-2',
        context: { ...nested[1]!.context, span_id: 'ph-5' },
      },
    )
    const [run] = parseRecordings(JSON.stringify(nested), 'export.json')
    expect(countRuns([run!])).toMatchObject({ assistantTurns: 2, toolCalls: 1 })
    expect(run?.notes).toEqual(['1 calls inside of tools are not replayed'])
  })

  it('runs the tools that no model asked for', async () => {
    const planned = structuredClone(phoenixSpans)
    planned.unshift({
      ...structuredClone(planned[2]!),
      ...{
        name: 'retrieve',
        start_time: planned[0]!.start_time,
        context: { ...planned[2]!.context, span_id: 'ph-9' },
      },
      attributes: { 'tool.name': 'retrieve', 'output.value': 'found' },
    })
    const [run] = parseRecordings(lines(planned), 'export.json')
    const names = (await replay(run!)).map(({ name }) => name)
    expect(names.filter((name) => !name.startsWith('step'))).toEqual([
      'invoke_agent support',
      'execute_tool retrieve',
      'chat gpt-4o-2024-08-06',
      'execute_tool get_weather',
      'chat gpt-4o-2024-08-06',
    ])
  })

  it('is refused, naming the mend, when it holds no call of a model', () => {
    expect(() => parseRecordings(JSON.stringify([phoenixSpans[2]]), 'export.json')).toThrow(
      /export\.json, run 0: the trace "a+" holds no call of a model\. Export it whole/,
    )
  })
})

describe('a SWE-agent trajectory', () => {
  const trajectory = [
    {
      action: 'ls\n',
      observation: 'README.md',
      response: 'Look.\n```\nls\n```',
      thought: 'Look.',
      state: '{}',
    },
    {
      action: 'submit\n',
      observation: '\ndiff',
      response: 'Done.\n```\nsubmit\n```',
      thought: 'Done.',
      state: '{}',
    },
  ]
  const text = JSON.stringify({
    ...{ environment: 'swe_main', trajectory },
    history: [
      { role: 'system', content: 'Fix it.', agent: 'primary' },
      { role: 'user', content: 'The issue', agent: 'primary' },
      {
        role: 'assistant',
        content: trajectory[0]!.response,
        action: 'ls\n',
        thought: 'Look.',
        agent: 'primary',
      },
      { role: 'user', content: 'README.md\nbash-$', agent: 'primary' },
      { role: 'assistant', content: trajectory[1]!.response, action: 'submit\n', agent: 'primary' },
    ],
    info: { exit_status: 'submitted (exit_cost)', model_stats: { instance_cost: 1.5 } },
  })

  it('runs the commands that the agent read out of the text, in the step of the answer', async () => {
    const [run] = parseRecordings(text, 'runs/pydicom.traj')
    expect(run).toMatchObject({ id: 'pydicom', outcome: { agentCostUsd: 1.5 } })
    const spans = await replay(run!)
    expect(spans.map(({ name }) => name)).toEqual([
      ...['invoke_agent pydicom', 'step', 'chat recorded-model', 'execute_tool ls'],
      ...['step', 'chat recorded-model', 'execute_tool submit'],
    ])
    expect(spans[0]?.attributes['hookspan.operation.reason']).toBe('cost_limit')
    expect(String(spans[6]?.attributes['gen_ai.tool.call.result'])).toContain('diff')
    expect(String(spans[5]?.attributes['gen_ai.input.messages'])).toContain('README.md\\nbash-$')
  })
})

describe('a run of Who&When', () => {
  const text = JSON.stringify({
    ...{
      question: 'How many?',
      question_ID: 'q1',
      mistake_agent: 'Coder',
      mistake_step: '1',
      mistake_reason: 'counts twice',
    },
    history: [
      { role: 'human', content: 'How many?' },
      { role: 'Coder (-> ComputerTerminal)', content: 'run this' },
      { role: 'ComputerTerminal', content: 'exitcode: 1 (execution failed)\nCode output: no' },
      { role: 'Coder', content: 'two' },
    ],
  })

  it('tells who said what, what code gave, and where a person found the mistake', async () => {
    const [run] = parseRecordings(text, 'Hand-Crafted/1.json')
    expect(run?.id).toBe('q1')
    const spans = await replay(run!)
    const chats = spans.filter(({ name }) => name.startsWith('chat '))
    expect(chats.map(({ attributes }) => attributes['hookspan.replay.speaker'])).toEqual([
      'Coder (-> ComputerTerminal)',
      'Coder',
    ])
    const [terminal] = spans.filter(({ name }) => name === 'execute_tool ComputerTerminal')
    expect(terminal?.status.code).toBe(2)
    expect(String(chats[1]?.attributes['gen_ai.input.messages'])).toContain('exitcode: 1')
    expect(spans[0]?.attributes).toMatchObject({
      ...{ 'hookspan.replay.mistake_agent': 'Coder', 'hookspan.replay.mistake_step': '1' },
      'hookspan.replay.mistake_reason': 'counts twice',
    })
  })
})

const folder = recordingsFolder()
const manifest = folder ? JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) : { datasets: {} }

describe.skipIf(!folder)('recordings of SWE-agent', () => {
  const files = folder ? readdirSync(join(folder, 'swe-agent')).filter((file) => file.endsWith('.traj')) : []
  it.each(files)('%s: every turn, command and observation', async (file) => {
    const facts = manifest.datasets['swe-agent'].files.find((entry: { path: string }) =>
      entry.path.endsWith(file),
    )
    const text = readFileSync(join(folder!, 'swe-agent', file), 'utf8')
    const [run] = parseRecordings(text, file)
    const counts = countRuns([run!])
    expect(counts).toMatchObject({
      ...{ assistantTurns: facts.assistant_turns, userMessages: facts.user_messages },
      ...{ toolCalls: facts.tool_calls, toolResults: facts.tool_results },
    })
    const spans = await replay(run!)
    expect(spans.filter(({ name }) => name.startsWith('chat '))).toHaveLength(facts.assistant_turns)
    const tools = spans.filter(({ name }) => name.startsWith('execute_tool '))
    expect(tools).toHaveLength(facts.tool_calls)
    expect(tools.filter(({ attributes }) => attributes['hookspan.replay.invented'])).toEqual([])
  })
})

describe.skipIf(!folder)('traces that OpenTelemetry for Python printed', () => {
  const base = folder ? join(folder, 'any-agent-otel') : ''
  const frameworks = folder
    ? readdirSync(base).filter((name) => /^[A-Z]+$/.test(name) && name !== 'LICENSE')
    : []
  it.each(frameworks)('%s: the turns and tools of the manifest', async (framework) => {
    const files = readdirSync(join(base, framework)).filter((file) => file.endsWith('.json'))
    expect(files.length).toBeGreaterThan(20)
    for (const file of files) {
      const path = `any-agent-otel/${framework}/${file}`
      const facts = manifest.datasets['any-agent-otel'].files.find(
        (entry: { path: string }) => entry.path === path,
      )
      // A few hold the spans of two traces.
      const runs = parseRecordings(readFileSync(join(base, framework, file), 'utf8'), path)
      const { assistantTurns, toolCalls } = countRuns(runs)
      // One of the frameworks tells each call of a model three times, inside of itself.
      expect(facts.assistant_turns % assistantTurns, path).toBe(0)
      expect(toolCalls, path).toBeGreaterThanOrEqual(facts.tool_calls)
      expect(
        runs
          .flatMap(({ items }) => items)
          .filter((item) => item.kind === 'assistant' && !item.content && item.calls.length === 0),
        path,
      ).toEqual([])
    }
  })
})
