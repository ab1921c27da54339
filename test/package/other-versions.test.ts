import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OLDEST_VITEST } from './otel-sdks.ts'
import { installPacked, outside, ROOT, run, tarball } from './support.ts'

/** What people have whose projects are older than hookspan's tests, and ADK, which brings an older `@google/genai`. */
const BESIDE = ['ai@6.0.326', 'openai@5.23.2', OLDEST_VITEST, '@google/adk@2.0.0', '@opentelemetry/api@1.9.0']

/** A model call through a client that somebody else's server answers. */
const CALL = `
import OpenAI from 'openai'
import { HookDispatcher } from 'hookspan'
import { startScriptedServer } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
const dispatcher = new HookDispatcher()
dispatcher.use({ name: 'told', hooks: [{ id: 'told', type: 'afterLlmCall', handler: () => console.log('told') }] })
const server = await startScriptedServer({ steps: [{ content: 'hi' }] })
const client = observeOpenAI(new OpenAI({ apiKey: 'k', baseURL: server.baseURL }), { dispatcher })
const reply = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
console.log(reply.choices[0].message.content)
await server.close()
`

/** Each of them is a promise where it is awaited, and in vitest's own `expect`, too. */
const MATCHERS = `
import type { AgentRun } from 'hookspan/agent'
import { expect, test } from 'hookspan/vitest'
import { expect as own } from 'vitest'
test('has types', async ({ trace }: { trace: object }) => {
  const run = {} as AgentRun
  expect(run).not.toHaveCalledTool('refund', { id: expect.any(String) }, { times: 1 })
  own(trace).toHaveSpans(['invoke_agent support'])
  const later: Promise<unknown> = expect(Promise.resolve(run)).resolves.toHaveBeenDenied()
  const polled: Promise<unknown> = expect.poll(() => trace).toHaveAskedHuman('refund')
  expect([run, await later, await polled]).toEqual([expect.toHaveCalledTool('refund')])
  // @ts-expect-error No name.
  expect(run).toHaveCalledTool()
  // @ts-expect-error No such option.
  expect(run).toHaveCalledTool('refund', {}, { time: 1 })
})
`

/** What a try that failed midway left unused is no failure of the next one. */
const RETRIED = `
import { mock } from 'hookspan/mock'
import { test } from 'hookspan/vitest'
let tries = 0
test('is tried again', { retry: 1 }, async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('t').returns(1))
  if (tries++ === 0) {
    model(['never asked for'])
    throw new Error('not yet')
  }
  await dispatcher.startOperation().toolCall({ apiName: 't', args: {} }, () => 2)
})
`

/** What a project of several writes declarations for: each type is to have a name that can be imported. */
const EXPORTED = `
import { parkedRun } from 'hookspan/ai-sdk'
import { type Approvals, approvalRoutes, memoryStore } from 'hookspan/approval'
import { match } from 'hookspan/mock'
import { idsOfOperation, operationIdGenerator } from 'hookspan/tracing'
import { test as base, matchers } from 'hookspan/vitest'
export const test = base.extend<{ shop: string }>({ shop: async ({ dispatcher }, use) => use(String(dispatcher)) })
export const routes = approvalRoutes({ approvals: {} as Approvals })
export const generator = operationIdGenerator()
export const ids = idsOfOperation('one')
export const matching = { ...match, order: () => match.regex(/^[0-9]+$/) }
export const ours = { ...matchers }
export const store = { ...memoryStore(), dispose: async () => {} }
export const parked = (result: object) => parkedRun(result)
`

describe('beside versions of its peers that it was not tested with', () => {
  let project: Awaited<ReturnType<typeof installPacked>>
  beforeAll(async () => {
    project = await installPacked([], BESIDE)
  })
  afterAll(() => project?.remove())

  it('is installed, and says once which version it does not know', async () => {
    const code = ['--input-type=module', '--eval', CALL]
    const { stdout, stderr } = await run(process.execPath, code, { cwd: project.folder, env: outside })
    expect(stdout).toBe('told\nhi\n')
    expect(stderr.match(/5\.23\.2/g)).toHaveLength(1)
    expect(stderr).toMatch(/openai 6 and 7/)
  })

  it('has a doctor that names each, with the range that was tested', async () => {
    const doctor = run('npx', ['--no-install', 'hookspan', 'doctor', '--json'], {
      cwd: project.folder,
      env: outside,
    })
    const { stdout } = await doctor.catch((error: { stdout: string }) => error)
    const says = (JSON.parse(stdout).findings as { says: string }[]).map(({ says }) => says).join('\n')
    expect(says).toMatch(/ai 6\.0\.326.*>=7\.0\.100 <8$/m)
    expect(says).toMatch(/@google\/genai 2\.\d+\.\d+.*>=3\.1 <4$/m)
  })

  it('runs the tests of the guide on the oldest vitest of its range', async () => {
    cpSync(join(ROOT, 'examples/testing'), join(project.folder, 'testing'), { recursive: true })
    writeFileSync(join(project.folder, 'testing/retried.test.ts'), RETRIED)
    const { stdout } = await run('npx', ['--no-install', 'vitest', 'run', '--reporter=json'], {
      cwd: project.folder,
      env: outside,
    }).catch((error: { stdout: string }) => error)
    expect(JSON.parse(stdout)).toMatchObject({ numFailedTests: 0, numPassedTests: 9 })
  })

  it.each([
    ['has the types of its matchers there, also where those of libraries are checked', MATCHERS, '--noEmit'],
    ['has types that another project can name', EXPORTED, '--declaration --emitDeclarationOnly'],
  ])('%s', async (_name, code, more) => {
    const file = `${code === MATCHERS ? 'matchers' : 'exported'}.mts`
    writeFileSync(join(project.folder, file), code)
    const flags =
      `${more} --strict --skipLibCheck false --module nodenext --target es2024 --types node`.split(' ')
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const typeRoots = ['--typeRoots', join(ROOT, 'node_modules/@types')]
    const checked = run(process.execPath, [tsc, ...flags, ...typeRoots, file], {
      cwd: project.folder,
      env: outside,
    })
    const { stdout } = await checked.catch((error: { stdout: string }) => error)
    expect(stdout).toBe('')
  })
})

/** npm looks into the newest version of each optional peer with a range, also of one that is not there, and refuses. */
describe('npm install hookspan', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hookspan-order-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.each([
    ['OpenTelemetry', ['@opentelemetry/api', '@opentelemetry/sdk-node']],
    ['an older OpenTelemetry', ['@opentelemetry/api@1.9.0', '@opentelemetry/sdk-node@0.200.0']],
    ['ADK', ['@google/adk', 'zod'], '@opentelemetry/sdk-node@0.205'],
    ['Mastra', ['@mastra/core', 'zod']],
    ['Strands', ['@strands-agents/sdk', 'zod'], '@opentelemetry/sdk-node@0.219'],
    ['LangChain', ['langchain', '@langchain/core', '@langchain/openai']],
  ])(
    'is not refused in a project that has %s already',
    async (name: string, packages: readonly string[], ...beside: string[]) => {
      const cwd = mkdtempSync(join(folder, name.slice(0, 3)))
      writeFileSync(join(cwd, 'package.json'), '{"private":true}')
      const install = (what: readonly string[]) =>
        run(
          'npm',
          ['install', '--package-lock-only', '--prefer-offline', '--no-audit', '--no-fund', ...what],
          {
            cwd,
            env: outside,
          },
        )
      await install(packages)
      await install([tarball(), ...beside])
    },
    120_000,
  )
})
