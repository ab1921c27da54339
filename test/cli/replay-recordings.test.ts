import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { operationIdsOf } from '../../src/cli/replay/operation-ids.ts'
import { readRecordings } from '../../src/cli/replay/recordings/index.ts'
import { replayRun } from '../../src/cli/replay/replay-run.ts'
import { ServedTurns } from '../../src/cli/replay/served-turns.ts'
import { scriptedFetch } from '../../src/mock/scripted-server/index.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'
import {
  conversationOf,
  type SeenSpan,
  saidInTau2Bench,
  saidInTauBench,
} from '../support/replayed-conversation.ts'
import { traced } from '../support/span-tree.ts'

const folder = recordingsFolder()
const files = ['tau-bench', 'tau2-bench'].flatMap((name) =>
  folder
    ? readdirSync(join(folder, name))
        .filter((file) => file.endsWith('.json'))
        .map((file) => `${name}/${file}`)
    : [],
)
const read = (name: string) => readFileSync(join(folder!, name), 'utf8')
const lines: Record<string, never>[] = folder
  ? read('runs.jsonl')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  : []

function seen(span: ReadableSpan): SeenSpan {
  const [seconds, nanos] = span.startTime
  return {
    name: span.name,
    spanId: span.spanContext().spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    start: BigInt(seconds) * 1_000_000_000n + BigInt(nanos),
    attributes: span.attributes,
    failed: span.status.code === 2,
    events: span.events.map(({ name, attributes = {} }) => ({ name, attributes })),
  }
}

/** Replays every run of a file, several at once, and gives the spans of each by its position. */
async function replayFile(file: string, recordedTimes = false): Promise<SeenSpan[][]> {
  const runs = await readRecordings(join(folder!, file))
  const ids = operationIdsOf(runs)
  const turns = new ServedTurns()
  const client = new OpenAI({
    apiKey: 'x',
    fetch: scriptedFetch({ respond: turns.respond, recordRequests: false }),
  })
  using tracing = traced({ captureContent: true, maxContentBytes: 10_000_000 })
  const traceIds = await Promise.all(
    runs.map(async (run) => {
      const operationId = ids.get(run)!
      turns.add(operationId, run)
      const options = {
        dispatcher: tracing.dispatcher,
        client,
        operationId,
        captureContent: true,
        recordedTimes,
      }
      return (await replayRun(run, options)).traceId
    }),
  )
  const byTrace = Map.groupBy(tracing.spans(), (span) => span.spanContext().traceId)
  expect(byTrace.size).toBe(runs.length)
  return traceIds.map((traceId) => byTrace.get(traceId!)!.map(seen))
}

describe.skipIf(!folder)('a replay of the real recordings', () => {
  describe.each(files)('%s', { timeout: 120_000 }, (file) => {
    let replayed: Promise<SeenSpan[][]> | undefined
    const load = () => (replayed ??= replayFile(file))

    it('makes a trace of each run with its model turns, tool calls by name and failed calls', async () => {
      const traces = await load()
      const expected = lines.filter((line) => line.file === file)
      expect(traces).toHaveLength(expected.length)

      for (const line of expected as unknown as Record<string, unknown>[]) {
        const spans = traces[line.pos as number]!
        const tools = spans.filter((span) => span.name.startsWith('execute_tool '))
        const byName = Object.fromEntries(
          [...Map.groupBy(tools, (span) => String(span.attributes['gen_ai.tool.name']))].map(
            ([name, list]) => [name, list.length],
          ),
        )
        const isTau2 = file.startsWith('tau2')
        expect({
          run_id: spans.find((span) => span.parentSpanId === undefined)?.attributes['hookspan.replay.run_id'],
          assistant_turns: spans.filter((span) => span.name.startsWith('chat ')).length,
          tool_calls: tools.length,
          tool_calls_by_name: byName,
          failed: tools.filter((span) => span.failed).length,
          by_user: tools.filter((span) => span.attributes['hookspan.tool.identifier'] === 'user').length,
        }).toEqual({
          run_id: line.run_id,
          assistant_turns: line.assistant_turns,
          tool_calls: line.tool_calls,
          tool_calls_by_name: line.tool_calls_by_name,
          failed: isTau2 ? line.tool_results_error_flagged : line.tool_results_starting_Error,
          by_user: (line.extra as { tool_calls_by_user?: number }).tool_calls_by_user ?? 0,
        })
      }
    })

    it('holds the whole conversation, byte for byte and in order, in the spans alone', async () => {
      const traces = await load()
      const recorded = JSON.parse(read(file))
      const said = Array.isArray(recorded)
        ? recorded.map((run) => saidInTauBench(run.traj))
        : recorded.simulations.map((run: { messages: never[] }) =>
            saidInTau2Bench(recorded.info.environment_info.policy, run.messages),
          )

      for (const [index, spans] of traces.entries()) expect(conversationOf(spans)).toEqual(said[index])
    })
  })

  it('keeps the recorded times on request, and the order of what was recorded at one time', {
    timeout: 60_000,
  }, async () => {
    const file = 'tau2-bench/telecom_gpt-4.1_dual-control.json'
    const { simulations } = JSON.parse(read(file))
    const [plain, timed] = [await replayFile(file), await replayFile(file, true)]

    for (const [index, spans] of timed.entries()) {
      const messages: { timestamp: string; role: string }[] = simulations[index].messages
      const times = messages.map(({ timestamp }) => Date.parse(`${timestamp}Z`))
      const starts = spans.map((span) => Number(span.start / 1_000n) / 1000)
      expect(Math.min(...starts)).toBeGreaterThanOrEqual(Math.min(...times) - 60_000)
      expect(Math.max(...starts)).toBeLessThanOrEqual(Math.max(...times) + 1)
      expect(conversationOf(spans)).toEqual(conversationOf(plain[index]!))
    }
  })
})
