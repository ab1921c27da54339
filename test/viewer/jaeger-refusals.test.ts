/** What is said where a Jaeger cannot be read, or not all of it. The real one is asked in test/jaeger/read-from.test.ts. */
import { openRunSource, startViewer } from 'hookspan/viewer'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { freePorts } from '../support/free-port.ts'
import { asJaeger, type QueryStub, send, startQueryStub } from '../support/query-stub.ts'
import { otlp } from './support.ts'

const ID = 'abc4'.padEnd(32, '1')
const AGENT = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'shop' }
const run = (traceId: string, words = '') =>
  otlp([{ traceId, spanId: 'b'.repeat(16), name: 'invoke_agent shop', attributes: { ...AGENT, words } }], {
    'service.name': 'shop',
  })

afterEach(() => vi.unstubAllEnvs())

async function open(url: string, more: { most?: number } = {}) {
  const source = await openRunSource({ from: `jaeger=${url}`, ...more })
  onTestFinished(() => source.close())
  return source
}

it.each([
  ['nothing at all', '', 'Expected `from` to be jaeger=ADDRESS, such as jaeger=http://jaeger:16686, got'],
  ['an address alone', 'http://jaeger:16686', 'Expected `from` to be jaeger=ADDRESS, such as'],
  ['another store', 'tempo=http://tempo:3200', 'nothing but Jaeger can be read from, got `tempo`'],
  ['no address', 'jaeger=jaeger:16686', 'with an address of http or https behind it'],
  ['a query', 'jaeger=http://jaeger:16686/?x=1', 'without `?` and what follows'],
])('refuses %s', async (_what, from, message) => {
  await expect(openRunSource({ from })).rejects.toThrow(message)
})

it('refuses credentials in the address without repeating them', async () => {
  for (const from of ['jaeger=http://ann:s3cret@jaeger:16686', 'http://ann:s3cret@jaeger:16686']) {
    const error = (await openRunSource({ from }).catch((failure) => failure)) as Error
    expect(error.message).toMatch(/Expected `from`/)
    expect(error.message).not.toContain('s3cret')
  }
  const error = await openRunSource({ from: 'jaeger=http://ann:s3cret@jaeger:16686' }).catch(
    (failure) => failure,
  )
  expect(error.message).toContain('HOOKSPAN_JAEGER_USER and HOOKSPAN_JAEGER_PASSWORD, in the environment')
})

it.each([
  [{ HOOKSPAN_JAEGER_USER: 'ann' }, 'HOOKSPAN_JAEGER_USER is set, HOOKSPAN_JAEGER_PASSWORD is not.'],
  [{ HOOKSPAN_JAEGER_TOKEN: 'a', HOOKSPAN_JAEGER_PASSWORD: 'b' }, 'Unset one.'],
  [{ HOOKSPAN_JAEGER_TOKEN: 'two words' }, 'characters that no header can have.'],
])('refuses credentials that cannot be sent: %o', async (env, message) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  await expect(openRunSource({ from: 'jaeger=http://jaeger:16686' })).rejects.toThrow(message)
})

it.each([
  [{ HOOKSPAN_JAEGER_TOKEN: 't0ken\n' }, 'Bearer t0ken'],
  [
    { HOOKSPAN_JAEGER_USER: 'ann', HOOKSPAN_JAEGER_PASSWORD: 'pass:wörd' },
    `Basic ${Buffer.from('ann:pass:wörd').toString('base64')}`,
  ],
])('sends the credentials of the environment, and keeps a 401 apart: %o', async (env, expected) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const answer = asJaeger('shop', { [ID]: run(ID) })
  const stub = await startQueryStub((request, response) =>
    request.headers.authorization === expected ? answer(request, response) : send(response, 401, 'no'),
  )
  expect((await (await open(stub.url)).listRuns('', 10)).runs).toHaveLength(1)
  for (const name of Object.keys(env)) vi.stubEnv(name, 'other')
  await expect((await open(stub.url)).listRuns('', 10)).rejects.toThrow(
    /wants to know who asks \(401\)\. It does not take what it was told: look at HOOKSPAN_JAEGER_TOKEN/,
  )
})

const PAGE = '<!DOCTYPE html>\n<html><title>Jaeger UI</title></html>'

it.each<[string, QueryStub['answer'], string]>([
  [
    'who asks is not known',
    (_, response) => send(response, 401, 'no'),
    'wants to know who asks (401). Set HOOKSPAN_JAEGER_TOKEN',
  ],
  ['it is not allowed', (_, response) => send(response, 403, PAGE), 'wants to know who asks (403)'],
  ['a page answers', (_, response) => send(response, 200, PAGE), 'answers with a page (200, HTML)'],
  [
    'nothing is there',
    (_, response) => send(response, 404, '404 page not found'),
    'There is no query API of Jaeger at',
  ],
  [
    'another API answers',
    (_, response) => send(response, 200, { version: 3 }),
    "not as Jaeger's query service does",
  ],
  [
    'it fails',
    (_, response) => send(response, 500, { error: { httpCode: 500, message: 'no such keyspace' } }),
    'answered 500: no such keyspace.',
  ],
  ['a proxy fails', (_, response) => send(response, 502, 'Bad Gateway'), 'answered 502.'],
  [
    'a login is before it',
    (_, response) => send(response, 302, '', { location: 'https://login.example.com/start?state=s3cret' }),
    'sends elsewhere (302, to https://login.example.com/start)',
  ],
  ['it hangs up', (_, response) => void response.destroy(), 'cannot be reached (UND_ERR_SOCKET)'],
])('says what to do where %s', async (_what, answer, message) => {
  const stub = await startQueryStub(answer)
  const source = await open(`${stub.url}/jaeger`)
  await expect(source.listRuns('', 10)).rejects.toThrow(message)
})

it('says that nobody answers', async () => {
  const [port] = await freePorts(1)
  const source = await open(`http://127.0.0.1:${port}`)
  await expect(source.listRuns('', 10)).rejects.toThrow(
    /cannot be reached \(ECONNREFUSED\)\. Is it running there\?/,
  )
})

it.each<[string, QueryStub['answer'], string | RegExp]>([
  [
    'cut in the middle',
    (_, response) => send(response, 200, JSON.stringify({ result: run(ID) }).slice(0, -30)),
    'is cut, or is not what Jaeger answers',
  ],
  ['of another kind', (_, response) => send(response, 200, { data: [] }), 'it has no `result`'],
  [
    'cut by the network',
    (_, response) => {
      response.writeHead(200, { 'content-length': 5_000 })
      response.write('{"result":', () => response.destroy())
    },
    /was cut after 1 KiB \(.+\)\. Try again/,
  ],
])('takes nothing of an answer that is %s', async (_what, answer, message) => {
  const stub = await startQueryStub(answer)
  await expect((await open(stub.url)).run(ID)).rejects.toThrow(message)
})

it('keeps what was fetched when Jaeger goes away, and says how old it is', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const stub = await startQueryStub(asJaeger('shop', { [ID]: run(ID) }))
  const source = await open(stub.url)
  expect((await source.listRuns('', 10)).runs).toHaveLength(1)
  stub.answer = (_, response) => send(response, 503, 'no')
  vi.advanceTimersByTime(10_000)
  const { runs, problems } = await source.listRuns('', 10)
  expect(runs).toHaveLength(1)
  expect(problems.join()).toMatch(/answered 503\. What is shown was fetched before \d{4}-/)
  stub.answer = asJaeger('shop', { [ID]: run(ID) })
  vi.advanceTimersByTime(10_000)
  expect((await source.listRuns('', 10)).problems.join()).not.toContain('503')
})

it('takes the base path, asks after the services of a query alone, and of each for so many', async () => {
  const stub = await startQueryStub((request, response) => {
    if (request.url?.endsWith('/services'))
      return send(response, 200, { services: ['shop', 'web', 'shop-eu'] })
    asJaeger('', { [ID]: run(ID) })(request, response)
  })
  const source = await open(`${stub.url}/tools/jaeger/`, { most: 7 })
  await source.listRuns('service:SHOP since:2h', 10)
  const searches = stub.asked
    .filter((path) => path.includes('/traces'))
    .map((path) => new URL(path, stub.url))
  expect(searches.map(({ pathname }) => pathname)).toEqual(Array(2).fill('/tools/jaeger/api/v3/traces'))
  expect(searches.map(({ searchParams }) => searchParams.get('query.service_name')).sort()).toEqual([
    'shop',
    'shop-eu',
  ])
  for (const { searchParams } of searches) {
    expect(searchParams.get('query.search_depth')).toBe('7')
    const ago = Date.now() - Date.parse(searchParams.get('query.start_time_min')!)
    expect(ago / 3_600_000).toBeCloseTo(2, 1)
  }
})

it('says what Jaeger was not asked: another time, more runs, words', async () => {
  const ids = ['1', '2', '3'].map((end) => 'c'.padEnd(31, '0') + end)
  const traces = Object.fromEntries(ids.map((traceId) => [traceId, run(traceId, 'refund failed')]))
  const stub = await startQueryStub(asJaeger('shop', traces))
  const source = await open(stub.url, { most: 3 })
  const { runs, problems } = await source.listRuns('refund', 10)
  expect(runs).toHaveLength(3)
  expect(problems).toEqual([
    expect.stringContaining('these runs are of 24 hours'),
    expect.stringContaining('Of shop Jaeger has more runs in this time than the 3 newest'),
    expect.stringContaining('Jaeger cannot search for words'),
  ])
  const few = await open(stub.url, { most: 4 })
  expect((await few.listRuns('since:1h', 10)).problems).toEqual([])
})

it('asks Jaeger for a run by its whole id only', async () => {
  const stub = await startQueryStub(asJaeger('shop', { [ID]: run(ID) }))
  const source = await open(stub.url)
  expect((await source.run('abc4'))?.summary.traceId).toBe(ID)
  await expect(source.run('abd5')).rejects.toThrow(
    'No run whose id begins with "abd5" is among those that were fetched',
  )
  expect(await source.run('f'.repeat(32))).toBeUndefined()
  expect(
    stub.asked.filter((path) => path.includes('/traces/')).every((path) => /\/[0-9a-f]{32}\?/.test(path)),
  ).toBe(true)
})

it('refuses more runs than Jaeger shows', async () => {
  await expect(open('http://jaeger:16686', { most: 1_501 })).rejects.toThrow('from 1 to 1500')
})

it('starts no viewer that would be asked to keep, answer or fetch what it cannot', async () => {
  const from = 'jaeger=http://jaeger:16686'
  await expect(startViewer({ from, db: ':memory:', port: 0 })).rejects.toThrow(
    'Expected `from` or `db`, got both',
  )
  await expect(startViewer({ from, approver: 'ann', port: 0 })).rejects.toThrow('`from` or `approver`')
  await expect(startViewer({ db: ':memory:', most: 5, port: 0 })).rejects.toThrow('it needs `from`')
  await expect(openRunSource({ from, db: 'a.db' })).rejects.toThrow('Expected `from` or `db`, got both')
})

it('says that of so many services not all were asked after', async () => {
  const services = Array.from({ length: 203 }, (_, at) => `service-${String(at).padStart(3, '0')}`)
  const stub = await startQueryStub((request, response) =>
    request.url?.endsWith('/services')
      ? send(response, 200, { services })
      : asJaeger('', {})(request, response),
  )
  const source = await open(stub.url)
  const { problems } = await source.listRuns('since:1h', 10)
  expect(problems).toEqual(['Jaeger knows 203 services, and 3 were not asked after. Say service:NAME.'])
  expect(stub.asked).toHaveLength(201)
  expect((await source.listRuns('since:1h service:service-202', 10)).problems).toEqual([])
})

it('reads a Jaeger that nobody has sent anything', async () => {
  const stub = await startQueryStub((_, response) => send(response, 200, {}))
  expect(await (await open(stub.url)).listRuns('since:1h', 10)).toMatchObject({ runs: [], problems: [] })
})
