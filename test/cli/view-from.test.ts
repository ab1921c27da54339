import { expect, it } from 'vitest'
import { asJaeger, startQueryStub } from '../support/query-stub.ts'
import { runCli } from '../support/run-cli.ts'
import { databaseFile } from '../viewer/start.ts'
import { id, otlp } from '../viewer/support.ts'

const FROM = ['--from', 'jaeger=http://127.0.0.1:1']

it.each([
  [['runs', ...FROM, '--db', 'a.db'], 'Expected --from or --db, got both.'],
  [['runs', ...FROM, '--url', 'http://127.0.0.1:1'], 'Expected --from or --url, got both.'],
  [['show', '--db', 'a.db', '--url', 'http://127.0.0.1:1'], 'Expected --db or --url, got both.'],
  [['runs', '--most', '5'], '--most says how much is fetched from a Jaeger: it needs --from.'],
  [['runs', ...FROM, '--most', '1501'], 'Expected --most to be a whole number from 1 to 1500, got `1501`.'],
  [['runs', '--from', 'http://127.0.0.1:1'], 'Expected `from` to be jaeger=ADDRESS, such as'],
  [
    ['runs', '--from', 'jaeger=http://ann:s3cret@127.0.0.1:1'],
    'HOOKSPAN_JAEGER_PASSWORD, in the environment',
  ],
  [['view', ...FROM, '--db', 'a.db'], 'Expected --from or --db, got both: what is elsewhere is only read.'],
  [['view', ...FROM, '--approvals', 'a.db'], 'Expected --from or --approvals, got both'],
  [['view', '--most', '5'], 'it needs --from'],
  [['runs', 'pull', 'abc'], "required option '--from <source>' not specified"],
  [
    ['runs', 'pull', 'abc', ...FROM, '--db', 'a.db', '--url', 'http://a'],
    'Expected --db or --url, got both.',
  ],
])('refuses %j with the mend', async (args, message) => {
  const { code, stderr } = await runCli(args)
  expect(stderr).toContain(message)
  expect(stderr).not.toContain('s3cret')
  expect(code).toBe(2)
})

it('ends with 1 where no Jaeger answers', async () => {
  const { code, stderr } = await runCli(['show', ...FROM, 'f'.repeat(32)])
  expect(stderr).toContain('Jaeger at http://127.0.0.1:1 cannot be reached')
  expect(code).toBe(1)
})

it('copies what came to a run since it was copied', async () => {
  const traceId = 'abc4'.padEnd(32, '1')
  const run = (count: number) => {
    const spans = Array.from({ length: count }, (_, at) => ({ traceId, spanId: id(at + 1), start: at }))
    return asJaeger('shop', { [traceId]: otlp(spans, { 'service.name': 'shop' }) })
  }
  const stub = await startQueryStub(run(3))
  const db = databaseFile()
  const pull = async () =>
    (await runCli(['runs', 'pull', traceId, '--from', `jaeger=${stub.url}`, '--db', db])).stdout
  expect(await pull()).toContain(`Copied 3 spans of run ${traceId} from`)
  stub.answer = run(5)
  expect(await pull()).toContain(`Copied 2 more of the 5 spans of run ${traceId} from`)
  expect(await pull()).toBe(`Run ${traceId} is in ${db} already: 5 spans.\n`)
  const { stdout } = await runCli(['show', traceId, '--json', '--db', db])
  expect(JSON.parse(stdout).run.spans).toBe(5)
})
