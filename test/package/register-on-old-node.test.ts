import { join } from 'node:path'
import { startScriptedServer } from 'hookspan/mock'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { programEnv } from '../support/registered.ts'
import { ROOT, run } from './support.ts'
import { neededTool } from './tools.ts'

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

it.each([
  ["hookspan's", REGISTER],
  ["another's", 'data:text/javascript,'],
])(
  'cannot require() an ES module there from TypeScript that Node itself reads, beside any preload: %s',
  async (_whose, preload) => {
    const args = ['--experimental-strip-types', join(PROGRAMS, 'typed.cts')]
    await expect(registered(args, preload)).rejects.toThrow('ERR_VM_MODULE_LINK_FAILURE')
    const path = await neededTool('node')
    expect((await run(path, args)).stdout).toBe('hello\n')
  },
)

async function registered(args: readonly string[], preload = REGISTER) {
  const path = await neededTool('node')
  const env = { PATH: process.env.PATH, ...programEnv(model.baseURL, collector.url) }
  return run(path, [`--import=${preload}`, ...args], { env })
}
