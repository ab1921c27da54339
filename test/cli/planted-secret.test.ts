import { expect, it } from 'vitest'
import { callCli } from '../support/call-cli.ts'

/** Nothing else looks like it. */
const SECRET = 'PLANTED-7f3a'
/** Nobody listens there. */
const URL_WITH_SECRETS = `http://user:${SECRET}@127.0.0.1:1/base?key=${SECRET}#${SECRET}`

it.each([
  ['runs', '--url', URL_WITH_SECRETS],
  ['runs', '--json', '--url', URL_WITH_SECRETS],
  ['show', 'latest', '--url', URL_WITH_SECRETS],
  ['runs', '--url', `user:${SECRET}@127.0.0.1`],
  ['approvals', 'list', '--url', URL_WITH_SECRETS],
  ['approvals', 'approve', 'apr_1', '--json', '--url', URL_WITH_SECRETS],
  ['approvals', 'list', '--url', `127.0.0.1:1/?key=${SECRET}`],
  ['approvals', 'list', '--url', 'http://127.0.0.1:1', '--token', `${SECRET}\n${SECRET}`],
  ['replay-call', 'a', '--model', 'm', '--url', URL_WITH_SECRETS, '--base-url', URL_WITH_SECRETS],
])('what may be a secret is in nothing that `hookspan %s %s %s` says', async (...args) => {
  const { code, stdout, stderr } = await callCli(['--debug', ...args])
  expect(code).toBeGreaterThan(0)
  expect(stderr).toContain('hookspan:')
  expect(stdout + stderr).not.toContain(SECRET)
})

it.each([URL_WITH_SECRETS, `user:${SECRET}@127.0.0.1`])(
  '`hookspan run` shows where spans are sent without what may be a secret: %j',
  async (endpoint) => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }
    const { code, stdout, stderr } = await callCli(['run', '--', process.execPath, '--version'], { env })
    expect(code).toBe(0)
    expect(stderr).toContain('spans are sent to')
    expect(stdout + stderr).not.toContain(SECRET)
  },
)
