import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { redisCheckpoints } from 'hookspan/agent'
import { redisChannel, redisStore, webhookChannel } from 'hookspan/approval'
import { commandGate, httpGate, loadConfigSync, webhookHook } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { expect, it } from 'vitest'

/** Nothing else looks like it. */
const SECRET = 'PLANTED-7f3a'

const http = (options: object) => () =>
  httpGate({ id: 'g', point: 'beforeToolCall', url: 'https://guard.example/', ...options })
const command = (options: object) => () =>
  commandGate({ id: 'g', point: 'beforeToolCall', command: 'guard', ...options })
const hook = (options: object) => () =>
  webhookHook({ id: 'h', type: 'onComplete', url: 'https://ops.example/', ...options })
const config = (text: string, env = {}) => {
  const file = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'hookspan.config.yaml')
  writeFileSync(file, text)
  return () => loadConfigSync({ file, userFile: false, env })
}

it.each<[string, () => unknown]>([
  ['headers as a text', http({ headers: `Authorization: Bearer ${SECRET}` })],
  ['headers as a list', http({ headers: [{ Authorization: SECRET }] })],
  ['a header and its value as a name', hook({ headers: { [`Authorization: Bearer ${SECRET}`]: '' } })],
  ['a URL of another scheme', http({ url: `ftp://user:${SECRET}@guard.example/` })],
  ['a URL without its colon', hook({ url: `https//user:${SECRET}@guard.example/` })],
  ['a URL of a port that there is not', http({ url: `https://guard.example:99999/?key=${SECRET}` })],
  ['a URL without its scheme', hook({ url: `guard.example:443/?key=${SECRET}` })],
  ['a URL and more in a list', http({ url: [`https://guard.example/?key=${SECRET}`] })],
  ['the environment as a text', command({ env: `TOKEN=${SECRET}` })],
  ['a variable that is no text', command({ env: { TOKEN: { value: SECRET } } })],
  ['arguments as a text', command({ args: `--token=${SECRET}` })],
  ['a channel to no URL', () => webhookChannel({ url: `u:${SECRET}@ops.example` })],
  ['a Redis that is a list', () => redisStore({ url: [`redis://:${SECRET}@redis.example`] as never })],
  ['a Redis without its colon', () => redisStore({ url: `redis//:${SECRET}@redis.example` })],
  [
    'a Redis of another scheme',
    () => redisChannel({ url: `https://u:${SECRET}@h`, secret: SECRET.repeat(3) }),
  ],
  ['checkpoints in no URL', () => redisCheckpoints({ url: `u:${SECRET}@redis.example:6379` })],
  ['a collector of gRPC', () => startTracing({ endpoint: `grpc://collector.example?key=${SECRET}` })],
  ['a collector in a list', () => startTracing({ endpoint: [`http://u:${SECRET}@h`] as never })],
  ['entries that are no list', config(`gates: { id: g, secret: ${SECRET} }`)],
  ['an entry that is a list', config(`gates: [[{ id: g, secret: ${SECRET} }]]`)],
  ['a config that is a text', config(SECRET)],
  [
    'a URL that the environment fills in',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is filled in by the config.
    config('gates: [{ id: g, type: http, point: beforeToolCall, url: "${GUARD}" }]', {
      GUARD: `ftp://user:${SECRET}@guard.example`,
    }),
  ],
])('what may be a secret is in no error about %s', (_what, make) => {
  expect(make).toThrow(expect.objectContaining({ message: expect.not.stringContaining(SECRET) }))
})

it.each([
  ['localhost:4318', '`"localhost:4318"`'],
  ['ftp://user:pass@guard.example/a?key=1', '`"ftp://guard.example/a?…"`'],
])('of %j the place is shown', (url, shown) => {
  expect(http({ url })).toThrow(`got ${shown} (string)`)
})
