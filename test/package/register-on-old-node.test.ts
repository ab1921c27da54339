import { join } from 'node:path'
import { startScriptedServer } from 'hookspan/mock'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { programEnv } from '../support/registered.ts'
import { ROOT, run } from './support.ts'
import { toolFor } from './tools.ts'

const PROGRAMS = join(ROOT, 'test/register/processes')
const OPENTELEMETRY = import.meta.resolve('@opentelemetry/instrumentation/hook.mjs')
const REGISTER = join(ROOT, 'dist/register/index.js')

let model: Awaited<ReturnType<typeof startScriptedServer>>
let collector: Awaited<ReturnType<typeof startCollector>>

beforeAll(async () => {
  model = await startScriptedServer({ respond: () => ({ content: 'It is on its way.' }) })
  collector = await startCollector()
})
afterAll(async () => {
  await model.close()
  await collector.stop()
})

it.each([
  ['alone', []],
  ['beside tsx', ['--import', import.meta.resolve('tsx')]],
  ["beside OpenTelemetry's hooks", ['--experimental-loader', OPENTELEMETRY]],
])('runs what the oldest Node can run, and attaches to it, %s', async (_how, beside) => {
  collector.spans.length = 0
  await registered([...beside, join(PROGRAMS, 'required-module/program.mjs')])
  const names = collector.spans.map(({ name }) => name.split(' ')[0]).sort()
  const runs = ['invoke_agent', 'invoke_agent', 'invoke_agent']
  expect(names).toEqual(['chat', 'chat', 'chat', 'chat', ...runs, 'step'])
})

it('says what it cannot follow there', async () => {
  const { stderr } = await registered([join(PROGRAMS, 'langchain-handed.mjs')])
  expect(stderr).toContain('langchain is not attached')
})

async function registered(args: readonly string[]) {
  const node = await toolFor('node')
  if ('missing' in node) throw new Error(node.missing)
  const env = { PATH: process.env.PATH, ...programEnv(model.baseURL, collector.url) }
  return run(node.path, [`--import=${REGISTER}`, ...args], { env })
}
