import { HookDispatcher } from 'hookspan'
import { type Agent, execAgent, resumeAgent } from 'hookspan/agent'
import { traceHooks } from 'hookspan/tracing'
import { expect, it } from 'vitest'
import type { SpanLine } from '../kill/trace.ts'
import { statelessModel } from '../support/stateless-model.ts'
import { tracerTelling } from '../support/told-spans.ts'
import { KeptRuns } from './kept-runs.ts'

const ID = 'run-1'

/** Looks three times, and is compacted in between. */
const agent: Agent = {
  name: 'looks',
  model: 'stateless',
  tools: [{ name: 'look', execute: () => 'nothing' }],
  compaction: { thresholdTokens: 30, keepMessages: 2, countTokens: () => 1 },
}

function process(tell: (line: SpanLine) => void) {
  let looked = 0
  const client = statelessModel((messages, { tools }) => {
    if (tools === undefined) return { content: 'It looked.' }
    if (looked === 3) return { content: 'done' }
    return { calls: [{ id: `look-${looked++}`, name: 'look', args: { at: messages.length } }] }
  })
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer: tracerTelling(tell) }))
  return { agent, client, dispatcher, priceOf: () => 0 }
}

const ended = (spans: readonly SpanLine[]) => spans.filter(({ at }) => at === 'end')

/** What is left of a run that is killed while its conversation is compacted, when the summary is there. */
async function killedIn() {
  const spans: SpanLine[] = []
  const store = new KeptRuns()
  const records: string[] = []
  store.onAppend = ({ record }) => records.push(record)
  let left: { records: readonly string[]; exported: readonly SpanLine[] } | undefined
  const telling = (line: SpanLine) => {
    if (line.at === 'end' && line.name === 'compact_context')
      left ??= { records: [...records], exported: ended(spans) }
    spans.push(line)
  }
  await execAgent({ ...process(telling), prompt: 'go', checkpoint: store, operationId: ID })
  if (left === undefined) throw new Error('The conversation was not compacted.')
  return left
}

it.each([
  ['goes on', undefined, 'done'],
  ['is cancelled', AbortSignal.abort(), 'interrupted'],
])(
  'has the model call of a compaction below its span when the run %s elsewhere',
  async (_, signal, reason) => {
    const { records, exported } = await killedIn()
    const spans: SpanLine[] = []
    const checkpoint = KeptRuns.after(records, ID)
    const next = process((line) => spans.push(line))
    const run = await resumeAgent({ ...next, checkpoint, operationId: ID, ...(signal && { signal }) })
    expect(run.reason).toBe(reason)
    const all = [...exported, ...ended(spans)]
    const ids = new Set(all.map(({ spanId }) => spanId))
    const orphans = all.filter(({ parentId }) => parentId !== undefined && !ids.has(parentId))
    expect(orphans.map(({ name }) => name)).toEqual([])
  },
)
