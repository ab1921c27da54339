import { HookDispatcher } from 'hookspan'
import type { ContractRun, ContractSubject } from 'hookspan/adapter/contract'
import { startTracing } from 'hookspan/tracing'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SpanTree } from '../../src/spans/span-tree.ts'
import { docsPage, markdownTable } from '../support/docs-page.ts'
import { getJson, post, recordedTraces } from '../viewer/support.ts'
import { SUBJECTS } from './subjects/index.ts'

/** The recordings are no part of the repository: without them there is nothing to compare with. */
const recorded = recordedTraces()
if (recorded.length === 0) console.warn('test/adapter/recorded.test.ts skips: the recorded runs are not here')

const SDKS = ['ai-sdk', 'openai-agents', 'langchain', 'observeAnthropic', 'observeGoogleGenAI']

interface Span {
  readonly name: string
  readonly start: bigint
  readonly attributes: readonly string[]
  readonly parent: boolean
}

const theirSpans = (one: (typeof recorded)[number]): Span[] =>
  one.traces.resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        name: span.name,
        start: BigInt(span.startTimeUnixNano),
        attributes: span.attributes.map(({ key }: { key: string }) => key),
        parent: span.parentSpanId !== '',
      })),
    ),
  )

/** The two forms in which the runs were recorded, one after the other. */
const isOpenInference = (spans: readonly Span[]) =>
  spans.some(({ attributes }) => attributes.includes('openinference.span.kind'))

async function ourSpans(subject: ContractSubject): Promise<Span[]> {
  const tree = new SpanTree()
  const dispatcher = new HookDispatcher({ priceOf: () => 0.001 })
  dispatcher.use({ name: 'recorded', instrument: tree })
  await subject.run(taskOn(dispatcher))
  return tree.spans.map((span) => ({
    name: span.name,
    start: 0n,
    attributes: Object.keys(span.attributes),
    parent: span.parentSpanId !== undefined,
  }))
}

/** The recorded task: what time is it, write it to a file, say so. */
function taskOn(dispatcher: HookDispatcher): ContractRun {
  const call = (name: string, q: string) => ({ toolCalls: [{ id: `call_${name}`, name, args: { q } }] })
  const tool = (name: string) => ({
    name,
    description: `Does ${name}.`,
    parameters: {
      type: 'object',
      properties: { q: { type: 'string' } },
      required: ['q'],
      additionalProperties: false,
    },
    execute: async () => 'done',
  })
  return {
    dispatcher,
    agentName: 'clerk',
    prompt: 'Write the time to a file.',
    replies: [call('get_current_time', 'here'), call('write_file', 'now'), { content: 'It is written.' }],
    tools: [tool('get_current_time'), tool('write_file')],
  }
}

const KINDS = [
  ['invoke_agent', /^invoke_agent/],
  ['a model call', /^(call_llm|chat|generate_content)/],
  ['execute_tool', /^execute_tool/],
] as const

const code = (names: Iterable<string>) => {
  const all = [...names].sort().map((name) => `\`${name}\``)
  return all.length === 0 ? 'none' : all.join(', ')
}

const union = (spans: readonly Span[], kind: RegExp) =>
  new Set(spans.filter(({ name }) => kind.test(name)).flatMap(({ attributes }) => attributes))

const both = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
  new Set([...one].filter((name) => other.has(name)))

const alone = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
  new Set([...one].filter((name) => !other.has(name)))

/** What is on that span wherever it is. */
function common(all: readonly (readonly Span[])[], kind: RegExp): Set<string> {
  const [first = new Set<string>(), ...rest] = all.map((spans) => union(spans, kind))
  return rest.reduce(both, first)
}

describe.skipIf(recorded.length === 0)('docs/adapters/recorded.md', () => {
  const page = docsPage('adapters/recorded.md')
  const theirs = recorded.map((one) => ({ ...one, spans: theirSpans(one) }))
  let ours: Span[][]
  beforeAll(async () => {
    const subjects = SUBJECTS.filter(({ name }) => SDKS.includes(name))
    expect(subjects.length).toBe(SDKS.length)
    ours = await Promise.all(subjects.map(ourSpans))
  })

  it('counts the recorded runs', () => {
    const frameworks = [...new Set(theirs.map(({ framework }) => framework))]
    const rows = frameworks.map((framework) => {
      const runs = theirs.filter((one) => one.framework === framework)
      const counts = runs.map(({ spans }) => spans.length)
      const asked = runs.flatMap(({ spans }) => spans.filter(({ name }) => name.startsWith('call_llm')))
      const withInput = asked.filter(({ attributes }) => attributes.includes('gen_ai.input.messages'))
      return [
        framework.toLowerCase(),
        `${runs.length}`,
        `${runs.filter(({ spans }) => isOpenInference(spans)).length}`,
        `${Math.min(...counts)} to ${Math.max(...counts)}`,
        `${withInput.length} of ${asked.length}`,
      ]
    })

    expect(page).toContain(
      markdownTable(
        ['framework', 'runs', 'by OpenInference', 'spans of a run', 'model calls that say what was asked'],
        rows,
      ),
    )
  })

  it('says how the recorded runs look, and which of their model calls say what was asked', () => {
    const genAI = theirs.map(({ spans }) => spans).filter((spans) => !isOpenInference(spans))
    const kinds = (spans: readonly Span[]) => spans.map(({ name }) => name.split(' ', 1)[0]).toSorted()
    const usual = ['call_llm', 'call_llm', 'call_llm', 'execute_tool', 'execute_tool', 'invoke_agent']
    const asUsual = genAI.filter((spans) => kinds(spans).join() === usual.join())
    for (const spans of asUsual) expect(spans.filter(({ parent }) => !parent)).toHaveLength(1)
    for (const spans of genAI) {
      expect(spans.length).toBeGreaterThanOrEqual(usual.length)
      expect(spans.length).toBeLessThanOrEqual(usual.length + 2)
    }
    const asked = genAI.map((spans) =>
      spans
        .filter(({ name }) => name.startsWith('call_llm'))
        .toSorted((one, other) => Number(one.start - other.start))
        .map(({ attributes }) => attributes.includes('gen_ai.input.messages')),
    )
    const first = asked.filter(([one, ...rest]) => one && !rest.includes(true))
    const none = asked.filter((calls) => !calls.includes(true))

    expect(page).toContain(`Of the ${genAI.length} in these words ${asUsual.length} are an agent`)
    expect(page).toContain(`alone in ${first.length} of them, and on none in ${none.length}.`)
  })

  it('says what is on whose spans', () => {
    const genAI = theirs.filter(({ spans }) => !isOpenInference(spans)).flatMap(({ spans }) => spans)
    const rows = KINDS.map(([title, kind]) => {
      const [there, here] = [union(genAI, kind), common(ours, kind)]
      return [
        title.includes(' ') ? title : `\`${title}\``,
        code(both(there, here)),
        code(alone(there, here)),
        code(alone(here, there)),
      ]
    })

    expect(page).toContain(markdownTable(['span', 'on both', 'on theirs alone', 'on ours alone'], rows))
  })

  it('has one tree of ours on each SDK, with the steps', () => {
    const shapes = ours.map((spans) =>
      spans.map(({ name }) => name.replace(/^(chat|generate_content) .*/, 'model')).toSorted(),
    )

    for (const shape of shapes) expect(shape).toEqual(shapes[0])
    expect(page).toContain(`${shapes[0]?.length} spans on each`)
    expect(ours.flat().filter(({ name }) => name.startsWith('step')).length).toBe(3 * SDKS.length)
  })
})

describe.skipIf(recorded.length === 0)('the viewer', () => {
  let viewer: Viewer
  beforeAll(async () => {
    viewer = await startViewer({ db: ':memory:', port: 0 })
  })
  afterAll(() => viewer.close())

  it('shows recorded runs of each framework beside those of ours', async () => {
    const last = [...new Set(recorded.map(({ framework }) => framework))].map((framework) =>
      recorded.findLast((one) => one.framework === framework),
    )
    for (const one of last) expect((await post(viewer, one?.traces as never)).status).toBe(200)
    const tracing = startTracing({
      serviceName: 'ours',
      endpoint: viewer.otlpEndpoint,
      captureContent: true,
    })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    for (const subject of SUBJECTS.filter(({ name }) => SDKS.includes(name))) {
      await subject.run(taskOn(dispatcher))
    }
    await tracing.forceFlush()
    await tracing.shutdown()

    const { runs } = await getJson<{ runs: Record<string, unknown>[] }>(viewer, '/api/runs')

    expect(runs.length).toBe(last.length + SDKS.length)
    for (const run of runs) {
      expect(run).toEqual(
        expect.objectContaining({
          status: 'ok',
          llmCalls: expect.any(Number),
          toolCalls: expect.any(Number),
        }),
      )
      expect(Number(run.llmCalls)).toBeGreaterThan(1)
      expect(Number(run.toolCalls)).toBeGreaterThan(1)
      const { items } = await getJson<{ items: { kind: string; role?: string }[] }>(
        viewer,
        `/api/runs/${run.traceId}/conversation`,
      )
      const talk = items.map(({ kind, role }) => role ?? kind)
      expect(talk).toEqual(expect.arrayContaining(['user', 'tool']))
    }
  })
})
