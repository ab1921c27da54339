/** What programs read from `runs`, `show`, `diff` and `tail`: the fields that docs/viewer.md promises. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callCli } from '../support/call-cli.ts'
import { SAMPLE_TRACE, sampleRun } from './sample-run.ts'
import { id, otlp, post } from './support.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))
const OTHER = 'b'.repeat(32)
const folder = mkdtempSync(join(tmpdir(), 'hookspan-json-'))
const db = join(folder, 'traces.db')
let viewer: Viewer

beforeAll(async () => {
  viewer = await startViewer({ port: 0, db })
  await post(viewer, sampleRun())
  await post(viewer, sampleRun({ traceId: OTHER, atMs: -60_000 }))
})
afterAll(async () => {
  await viewer.close()
  rmSync(folder, { recursive: true })
})

async function json(...args: string[]) {
  const { code, stdout, stderr } = await callCli([...args, '--json'])
  expect([code, code === 0 || stderr]).toEqual([0, true])
  return JSON.parse(stdout)
}

const RUN =
  `traceId title agent service model conversationId status reason inputPreview answerPreview startUs endUs durationMs
  spans steps llmCalls toolCalls mockedCalls errors waiting inputTokens outputTokens cachedTokens costUsd
  estimatedUsd agents tools models mark note labels`.split(/\s+/)
const SPAN =
  `depth spanId parentSpanId name category startUs endUs state error label service inputTokens outputTokens
  cachedTokens reasoningTokens costUsd costEstimated outcome mocked callId preview errorText durationMs`.split(
    /\s+/,
  )
const UNIT = 'spanId category label preview durationMs tokens costUsd error mocked outcome reply'.split(' ')

it('runs gives the runs, how many there are, what was not searched or understood, the sums, and nothing else', async () => {
  const list = await json('runs', '--url', viewer.url)
  expect(Object.keys(list)).toEqual(['runs', 'total', 'indexing', 'problems', 'words', 'numbers'])
  expect(Object.keys(list.runs[0])).toEqual(RUN)
})

it('show gives the run and its spans in tree order', async () => {
  const shown = await json('show', SAMPLE_TRACE, '--url', viewer.url)
  expect(Object.keys(shown)).toEqual(['run', 'spans'])
  expect(Object.keys(shown.run)).toEqual(RUN)
  for (const span of shown.spans) {
    const { gates, compaction, human, ...always } = span
    expect(Object.keys(always)).toEqual(SPAN)
  }
  const whole = await json('show', SAMPLE_TRACE, '--span', id(4), '--url', viewer.url)
  expect(Object.keys(whole)).toEqual(
    'traceId spanId parentSpanId name kind startUs endUs status attributes events links resource scope'.split(
      ' ',
    ),
  )
})

it('diff gives both runs, the counts, and each pair', async () => {
  const diff = await json('diff', SAMPLE_TRACE, OTHER, '--url', viewer.url)
  expect(Object.keys(diff).sort()).toEqual([
    'a',
    'added',
    'answers',
    'b',
    'changed',
    'removed',
    'rows',
    'same',
  ])
  for (const row of diff.rows) expect(Object.keys(row.a)).toEqual(UNIT)
})

it.each([
  ['runs', []],
  ['show', [SAMPLE_TRACE]],
  ['show', [SAMPLE_TRACE, '--conversation']],
  ['diff', [SAMPLE_TRACE, OTHER]],
])('%s %j reads the same from a viewer and from its file', async (command, args) => {
  expect(await json(command, ...args, '--db', db)).toEqual(await json(command, ...args, '--url', viewer.url))
})

it('show --conversation says what it cut, and the command that gives it whole', async () => {
  const long = 'x'.repeat(25_000)
  const traceId = 'c'.repeat(32)
  const said = JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: long }] }])
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.output.messages': said }
  await post(viewer, otlp([{ traceId, spanId: id(9), name: 'chat', attributes }]))

  const { cut, conversation } = await json('show', traceId, '--conversation', '--db', db)
  const message = conversation.find((item: { kind: string }) => item.kind === 'message')
  expect(message.pieces[0].text).toHaveLength(20_000)
  const whole = `hookspan show ${traceId} --span ${id(9)} --db ${db}`
  expect(cut).toEqual([{ spanId: id(9), kind: 'message', cutChars: 5_000, whole }])
  const span = await json(...whole.split(' ').slice(1))
  expect(JSON.stringify(span)).toContain(long)

  const { stdout } = await promisify(execFile)(process.execPath, [
    BIN,
    'show',
    traceId,
    '-c',
    '--url',
    viewer.url,
  ])
  expect(stdout).toContain(
    `… 5000 characters are not shown above. Whole: hookspan show ${traceId} --span ${id(9)} --url`,
  )
  expect((await json('show', SAMPLE_TRACE, '-c', '--db', db)).cut).toEqual([])
})
