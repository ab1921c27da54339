/** An agent that a tool runs by itself, in a run that goes on after SIGKILL: what was begun of it has an end in its trace. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { spanTitle } from 'hookspan/tracing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'

const AGENT = fileURLToPath(new URL('processes/agent-in-tool.ts', import.meta.url))

let collector: Awaited<ReturnType<typeof startCollector>>
let folder: string
beforeEach(async () => {
  collector = await startCollector()
  folder = mkdtempSync(`${tmpdir()}/hookspan-chaos-`)
})
afterEach(async () => {
  await collector.stop()
  rmSync(folder, { recursive: true, force: true })
})

const start = (how: string, spool: boolean): ChildProcess =>
  spawn(
    process.execPath,
    ['--no-warnings', AGENT, collector.url, folder, how, ...(spool ? [`${folder}/spool`] : [])],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )

async function said(child: ChildProcess, word: string): Promise<void> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    if (text.includes(word)) return
  }
  throw new Error(`It ended, and had said: ${text}`)
}

it.each([
  ['below the run', 'below', false],
  ['below the run, with a spool', 'below', true],
  ['on its own', 'alone', false],
  ['on its own, with a spool', 'alone', true],
])('one that runs %s leaves no span without a parent', async (_name, how, spool) => {
  const first = start(how, spool)
  await said(first, 'at work\n')
  first.kill('SIGKILL')
  await once(first, 'exit')
  const before = collector.names()
  expect(before).toContain('chat stateless')

  const next = start(how, spool)
  await said(next, 'done\n')
  expect(await once(next, 'exit')).toEqual([0, null])
  const { spans } = collector
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const orphans = spans.filter(({ parentSpanId }) => parentSpanId && !ids.has(parentSpanId))
  expect(orphans.map(({ name, attributes }) => spanTitle(name, attributes))).toEqual([])
  const each = [...ids].map((id) => spans.findLast(({ spanId }) => spanId === id) as (typeof spans)[number])
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(each.map(({ name, attributes }) => spanTitle(name, attributes)).sort()).toEqual([
    'chat stateless',
    'chat stateless',
    'chat stateless',
    'execute_tool note',
    'execute_tool research',
    'invoke_agent researcher',
    'invoke_agent shop',
    'step 0',
    'step 0',
    'step 1',
  ])
  if (!spool) expect(spans).toHaveLength(each.length)
})
