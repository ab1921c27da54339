import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HookDispatcher } from 'hookspan'
import {
  type ExpectedCall,
  mock,
  mockTools,
  readRecording,
  recordingFromTrace,
  replayTools,
} from 'hookspan/mock'
import { expect } from 'hookspan/vitest'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { loadTrace } from '../../src/cli/mocks/load-trace.ts'
import { TraceTree } from '../../src/vitest/trace-tree.ts'
import { resultOf, runTools } from './support/run-tools.ts'

const calls = [
  { apiName: 'search', args: { q: 'x' } },
  { apiName: 'search', args: { q: 'x' } },
  { apiName: 'book', args: { id: 7 } },
]

/** OTLP JSON of a run with three real calls and one mocked one. */
async function traceOfRun(): Promise<object> {
  const dispatcher = new HookDispatcher()
  const tree = new TraceTree()
  dispatcher.use({ name: 'tree', instrument: tree })
  using _mocks = mockTools(dispatcher, [mock('weather').returns('mocked')], { onUnmocked: 'passthrough' })
  await runTools(dispatcher, [...calls, { apiName: 'weather', args: {} }])
  return JSON.parse(JSON.stringify(tree))
}

describe('recordingFromTrace', () => {
  it('makes a recording that replays and a trajectory that matches, and leaves mocked calls out', async () => {
    const trace = await traceOfRun()
    const { recording, trajectory, leftOut } = recordingFromTrace(trace)
    expect(recording.calls).toHaveLength(3)
    expect(leftOut).toEqual(['weather: mocked (mock)'])
    expect(trace).toMatchTrajectory(trajectory)
    const dispatcher = new HookDispatcher()
    using replay = replayTools(dispatcher, { recording })
    const outcomes = await runTools(dispatcher, calls)
    expect(outcomes.map(resultOf)).toEqual(['real search', 'real search', 'real book'])
    replay.assertFollowed()
  })

  it('leaves out what the trace holds a part of', () => {
    const span = (id: string, args: string, result: string, cut?: unknown) => ({
      name: `execute_tool ${id}`,
      spanContext: () => ({ traceId: 'a'.repeat(32), spanId: id }),
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': id,
        'gen_ai.tool.call.arguments': args,
        'gen_ai.tool.call.result': result,
        ...(cut === undefined ? {} : { 'hookspan.content.cut': cut }),
      },
    })
    const { recording, trajectory, leftOut } = recordingFromTrace([
      span('one', '{"a":1}', '{"ok":1}'),
      span('two', '{"a":"x... [cut]"}', '{"ok":1}', ['gen_ai.tool.call.arguments']),
      span('three', '{"a":1}', '{"ok":"x... [cut]"}', '["gen_ai.tool.call.result"]'),
    ])
    expect(recording.calls.map(({ tool }) => tool)).toEqual(['one'])
    expect(trajectory).toEqual([
      { name: 'one', args: { a: 1 } },
      { name: 'two' },
      { name: 'three', args: { a: 1 } },
    ])
    expect(leftOut).toEqual([
      expect.stringContaining('two: its arguments cut in the trace'),
      expect.stringContaining('three: its result cut in the trace'),
    ])
  })

  it('tells the model the very text again, also where it is JSON', async () => {
    const texts = ['"quoted"', '{ "a": 1 }', '12', 'plain']
    const run = async (dispatcher: HookDispatcher) => {
      const op = dispatcher.startOperation({ agentName: 'support' })
      const told: string[] = []
      for (const [id, text] of texts.entries()) {
        const outcome = await op.toolCall({ apiName: 'read', args: { id } }, () => text)
        told.push(outcome.toToolMessage().content)
      }
      await op.complete()
      return told
    }
    const traced = new HookDispatcher()
    const tree = new TraceTree()
    traced.use({ name: 'tree', instrument: tree })
    expect(await run(traced)).toEqual(texts)
    const dispatcher = new HookDispatcher()
    const { recording } = recordingFromTrace(JSON.parse(JSON.stringify(tree)))
    using _replay = replayTools(dispatcher, { recording })
    expect(await run(dispatcher)).toEqual(texts)
  })

  it('knows what a tool called in turn, which is not called in a replay', () => {
    const span = (id: number, parent: number | undefined, tool: string, more: object = {}) => ({
      name: `execute_tool ${tool}`,
      ...{ spanId: String(id), startTime: id, ...(parent !== undefined && { parentSpanId: String(parent) }) },
      attributes: { 'gen_ai.tool.call.arguments': '{}', 'gen_ai.tool.call.result': '1', ...more },
    })
    const { recording, trajectory } = recordingFromTrace([
      span(1, undefined, 'ask'),
      span(2, 1, 'find'),
      span(3, undefined, 'expert', { 'hookspan.tool.source': 'agent' }),
      span(4, 3, 'book'),
    ])
    expect(recording.calls.map(({ tool, inside }) => [tool, inside])).toEqual([
      ['ask', undefined],
      ['find', 'ask'],
      ['expert', undefined],
      ['book', undefined],
    ])
    expect(trajectory.map((call) => (call as { name: string }).name)).toEqual(['ask', 'expert', 'book'])
  })

  it('takes no result for an answer that `hookspan replay` has made up', () => {
    const span = (tool: string, startTime: number, more: object = {}) => ({
      name: `execute_tool ${tool}`,
      spanId: tool,
      startTime,
      attributes: { 'gen_ai.tool.call.arguments': '{}', 'gen_ai.tool.call.result': '1', ...more },
    })
    const invented = { 'hookspan.replay.invented': true }
    const { recording, trajectory, leftOut } = recordingFromTrace([span('a', 1), span('b', 2, invented)])
    expect(recording.calls.map(({ tool }) => tool)).toEqual(['a'])
    expect(trajectory).toMatchObject([{ name: 'a' }, { name: 'b' }])
    expect(leftOut).toEqual(['b: its result is not in what was replayed'])
  })

  it('says what a trace lacks', () => {
    const span = (attributes: object) => [{ name: 'execute_tool a', attributes, startTime: 1 }]
    expect(() => recordingFromTrace({})).toThrow('Expected spans, OTLP JSON or Jaeger JSON')
    expect(() => recordingFromTrace([{ name: 'x', attributes: {} }])).toThrow('no tool call among them')
    expect(() => recordingFromTrace(span({ 'gen_ai.operation.name': 'execute_tool' }))).toThrow(
      '`captureContent: true`',
    )
  })
})

describe('hookspan mocks from-trace', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hookspan-from-trace-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('writes recording and trajectory of a file', async () => {
    const [file, out, trajectory] = ['trace.json', 'recording.json', 'trajectory.json'].map((name) =>
      join(folder, name),
    ) as [string, string, string]
    writeFileSync(file, JSON.stringify(await traceOfRun()))
    const bin = new URL('../../dist/cli/bin.js', import.meta.url).pathname
    const { stderr } = await promisify(execFile)(process.execPath, [
      bin,
      'mocks',
      'from-trace',
      file,
      '--out',
      out,
      '--trajectory',
      trajectory,
    ])
    expect(stderr).toContain('left out: weather: mocked (mock)')
    expect(stderr).toContain('3 calls of 2 tools written')
    expect(readRecording(out).calls.map(({ tool, agent }) => [tool, agent])).toEqual([
      ['search', 'support'],
      ['search', 'support'],
      ['book', 'support'],
    ])
    const expected = JSON.parse(readFileSync(trajectory, 'utf8')) as ExpectedCall[]
    expect(await traceOfRun()).toMatchTrajectory(expected)
  })

  it('reads a trace from Jaeger by its id or the address of its page', async () => {
    const id = '0123456789abcdef0123456789abcdef'
    const asked: string[] = []
    const span = {
      traceID: id,
      spanID: 'a',
      operationName: 'execute_tool search',
      startTime: 1,
      tags: [{ key: 'gen_ai.operation.name', value: 'execute_tool' }],
    }
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.statusCode = request.url === `/api/traces/${id}` ? 200 : 404
      response.end(JSON.stringify({ data: [{ traceID: id, spans: [span], processes: {} }] }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const jaeger = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      for (const source of [id, `${jaeger}/trace/${id}`, `${jaeger}/api/traces/${id}`]) {
        expect(await loadTrace(source, { jaeger })).toMatchObject([
          { name: 'execute_tool search', traceId: id },
        ])
      }
      expect(new Set(asked)).toEqual(new Set([`/api/traces/${id}`]))
      await expect(loadTrace('f'.repeat(32), { jaeger })).rejects.toThrow('no such trace (404)')
    } finally {
      server.close()
      server.closeAllConnections()
    }
    await expect(loadTrace(id, { jaeger })).rejects.toThrow('Is Jaeger running there?')
  })

  it('asks for one of several traces, and says what it cannot read', async () => {
    const file = join(folder, 'two.json')
    writeFileSync(file, `${JSON.stringify(await traceOfRun())}\n${JSON.stringify(await traceOfRun())}\n`)
    await expect(loadTrace(file, { jaeger: '' })).rejects.toThrow(
      /holds 2 traces: .* Choose one with --trace/,
    )
    const all = JSON.parse(readFileSync(file, 'utf8').split('\n')[0] as string)
    const traceId = all.resourceSpans[0].scopeSpans[0].spans[0].traceId as string
    expect((await loadTrace(file, { jaeger: '', traceId })).every((span) => span.traceId === traceId)).toBe(
      true,
    )
    await expect(loadTrace(join(folder, 'none'), { jaeger: '' })).rejects.toThrow('cannot be read')
    writeFileSync(file, `\uFEFF${JSON.stringify(all)}`)
    expect(await loadTrace(file, { jaeger: '' })).not.toEqual([])
    writeFileSync(file, 'text')
    await expect(loadTrace(file, { jaeger: '' })).rejects.toThrow('is not JSON')
    writeFileSync(file, '{}')
    await expect(loadTrace(file, { jaeger: '' })).rejects.toThrow('holds neither OTLP JSON')
  })
})
