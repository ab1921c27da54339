import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Jaeger, type JaegerSpan, startJaeger } from '../support/jaeger.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { conversationOf, type SeenSpan, saidInTauBench } from '../support/replayed-conversation.ts'
import { runCli } from '../support/run-cli.ts'

const folder = recordingsFolder()
const FILE = 'tau-bench/gpt-4o-airline.json'

interface Summary {
  modelTurns: number
  toolCalls: number
  toolCallsByName: Record<string, number>
  failedCalls: number
  results: { index: number; traceId: string; modelTurns: number; toolCalls: number }[]
}

function seen(span: JaegerSpan): SeenSpan {
  const { name, spanId, parentSpanId, startTimeUnixNano: start, attributes, status, events } = span
  return { name, spanId, parentSpanId, start, attributes, events, failed: status.code === 'ERROR' }
}

describe.skipIf(!folder)('all 99 tau-bench runs, replayed by the command into a real Jaeger', () => {
  let jaeger: Jaeger
  let summary: Summary
  const traces: SeenSpan[][] = []
  const warnings: string[] = []

  beforeAll(async () => {
    jaeger = await startJaeger()
    const options = ['--endpoint', jaeger.otlpUrl, '--content', '--max-content-bytes', '10000000', '--json']
    const { code, stdout, stderr } = await runCli(['replay', join(folder!, FILE), ...options])
    expect(stderr).toBe('')
    expect(code).toBe(0)
    summary = JSON.parse(stdout)
    for (const { index, traceId, modelTurns, toolCalls } of summary.results) {
      // The run, and a step around each model turn.
      const trace = await jaeger.getTrace(traceId, { spanCount: 1 + 2 * modelTurns + toolCalls })
      traces[index] = trace.spans.map(seen)
      warnings.push(...trace.spans.flatMap((span) => span.warnings))
    }
  })
  afterAll(() => jaeger?.stop())

  it('have the counts of the manifest', () => {
    const manifest = JSON.parse(readFileSync(join(folder!, 'manifest.json'), 'utf8'))
    const file = manifest.datasets['tau-bench'].files[0]
    expect(summary).toMatchObject({
      runs: file.runs,
      modelTurns: file.assistant_turns,
      toolCalls: file.tool_calls,
      toolCallsByName: file.tool_calls_by_name,
      failedCalls: file.tool_results_starting_Error,
    })
    const spans = traces.flat()
    const tools = spans.filter((span) => span.name.startsWith('execute_tool '))
    expect(spans.filter((span) => span.name.startsWith('chat '))).toHaveLength(file.assistant_turns)
    expect(tools).toHaveLength(file.tool_calls)
    expect(tools.filter((span) => span.failed)).toHaveLength(file.tool_results_starting_Error)
    for (const [name, count] of Object.entries(file.tool_calls_by_name)) {
      expect(tools.filter((span) => span.name === `execute_tool ${name}`)).toHaveLength(count as number)
    }
    expect(warnings).toEqual([])
  })

  it('are there run by run, with the whole conversation in order and byte for byte', () => {
    const recorded = JSON.parse(readFileSync(join(folder!, FILE), 'utf8')) as { traj: never[] }[]
    expect(traces).toHaveLength(99)
    for (const [index, spans] of traces.entries()) {
      expect(conversationOf(spans)).toEqual(saidInTauBench(recorded[index]!.traj))
    }
  })

  it('are found by what they are', async () => {
    const found = await jaeger.findTraces({
      service: 'hookspan-replay',
      operation: 'invoke_agent gpt-4o-airline',
      tags: { 'hookspan.replay.run_id': 'task0-trial0' },
    })
    expect(found.map((trace) => trace.traceID)).toEqual([summary.results[0]!.traceId])
  })
})
