/** `hookspan replay-call` against a server that says what it is told, from a process of its own. */
import { startScriptedServer } from 'hookspan/mock'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post } from '../viewer/support.ts'

let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ port: 0, db: ':memory:' })
  await post(viewer, sampleRun())
})
afterAll(() => viewer.close())

const OPENAI_API_KEY = 'sk-of-the-user'
const run = (args: string[], env: Record<string, string> = { OPENAI_API_KEY }) =>
  runCli(['replay-call', ...args, '--url', viewer.url], { env })

it('asks the other model what the first was asked, with the key of the user, and shows both answers', async () => {
  const server = await startScriptedServer({
    steps: [
      {
        content: 'Let me look.',
        toolCalls: [{ name: 'search_bookings', arguments: { customer: 'Mei' } }],
        usage: { inputTokens: 1_200, outputTokens: 9 },
        model: 'gpt-4o-mini',
      },
    ],
  })
  const { code, stdout, stderr } = await run([id(3), '-m', 'gpt-4o-mini', '--base-url', server.baseURL])
  await server.close()
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('recorded: gpt-4o-2024-11-20, 1,180 → 46 tokens, 1.81 s, $0.0034')
  expect(stdout).toContain('→ search_bookings({"customer":"Mei Sato"})')
  expect(stdout).toMatch(/replayed: gpt-4o-mini, 1,200 → 9 tokens, .*, \$0\.000/)
  expect(stdout).toContain('  Let me look.\n  → search_bookings({"customer":"Mei"})')

  const [request] = server.requests
  expect(request?.headers.authorization).toBe(`Bearer ${OPENAI_API_KEY}`)
  expect(request?.body).toMatchObject({ model: 'gpt-4o-mini' })
  expect(request?.messages).toEqual([
    { role: 'system', content: expect.stringContaining('You are the support agent') },
    { role: 'user', content: expect.stringContaining('Please cancel my flight to Lisbon') },
  ])
  const tools = request?.body.tools as { type: string; function: { name: string; parameters: object } }[]
  expect(tools.map(({ type, function: { name } }) => [type, name])).toEqual([
    ['function', 'search_bookings'],
    ['function', 'cancel_booking'],
    ['function', 'drop_table'],
  ])
  expect(tools[0]?.function.parameters).toMatchObject({ required: ['customer'] })
})

it('sends tool calls and results as they were, and prints JSON', async () => {
  const server = await startScriptedServer({
    steps: [{ content: 'Done.', usage: { inputTokens: 5, outputTokens: 1 } }],
  })
  const args = [
    id(13),
    '--run',
    SAMPLE_TRACE.slice(0, 8),
    '-m',
    'other',
    '--json',
    '--base-url',
    server.baseURL,
  ]
  const { stdout, stderr } = await run(args)
  await server.close()
  expect(stderr).toBe('')
  const { recorded, replayed } = JSON.parse(stdout)
  expect(recorded).toMatchObject({
    content: expect.stringContaining('Flex fares'),
    inputTokens: 910,
    cachedTokens: 512,
  })
  expect(replayed).toMatchObject({ content: 'Done.', toolCalls: [], inputTokens: 5, outputTokens: 1 })
  const roles = server.requests[0]?.messages.map((message) => (message as { role: string }).role)
  expect(roles).toEqual(['system', 'user', 'assistant', 'tool'])
  expect(server.requests[0]?.messages[2]).toMatchObject({
    tool_calls: [
      {
        id: 'call_r2',
        function: { name: 'fetch_page', arguments: '{"url":"https://mirror.example/fares"}' },
      },
    ],
  })
})

it('says what is missing, and what the server refused', async () => {
  const missing = await run([id(3), '-m', 'x'], {})
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('OPENAI_API_KEY is not set')])
  const nowhere = await run(['0123456789abcdef', '-m', 'x'])
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('Name its run with --run')])
  const tool = await run([id(2), '-m', 'x'])
  expect([tool.code, tool.stderr]).toEqual([2, expect.stringContaining('no call of a model')])
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' }
  await post(
    viewer,
    otlp([{ traceId: 'e'.repeat(32), spanId: id(1), name: 'chat', start: -900_000, attributes }]),
  )
  const silent = await run([id(1), '--run', 'eeee', '-m', 'x'])
  expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining('captureContent: true')])
  const without = await run([id(3)])
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('--model')])

  const server = await startScriptedServer({ steps: [{ error: { status: 404, message: 'no such model' } }] })
  const refused = await run([id(3), '-m', 'nonsense', '--base-url', server.baseURL])
  await server.close()
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('no such model')])
  expect(refused.stderr).not.toContain(OPENAI_API_KEY)
})

it.each([
  ['a key with a line break', [], `${OPENAI_API_KEY}\n${OPENAI_API_KEY}`],
  ['a URL with the key', ['--base-url', `http://user:${OPENAI_API_KEY}@127.0.0.1:1/v1`], 'any'],
  ['a URL without its colon', ['--base-url', `http//user:${OPENAI_API_KEY}@127.0.0.1:1/v1`], 'any'],
])('says what is wrong with %s without it', async (_what, args, key) => {
  const said = await run([id(3), '-m', 'm', '--debug', ...args], { OPENAI_API_KEY: key })
  expect([said.code, said.stderr]).toEqual([
    2,
    expect.stringMatching(/OPENAI_API_KEY has|Expected --base-url/),
  ])
  expect(said.stdout + said.stderr).not.toContain(OPENAI_API_KEY)
})
