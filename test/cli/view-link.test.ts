import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { expect, it, onTestFinished } from 'vitest'
import { runCli } from '../support/run-cli.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))

/** What `hookspan view` prints: the page, and where spans are to be sent. */
async function view(): Promise<{ page: string; endpoint: string }> {
  const args = [BIN, 'view', '--port', '0', '--memory', '--no-open']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  let page = ''
  for await (const line of createInterface({ input: child.stdout })) {
    page = /^hookspan viewer +(\S+)/.exec(line)?.[1] ?? page
    const endpoint = /^send traces to +(\S+)/.exec(line)?.[1]
    if (endpoint !== undefined) return { page, endpoint }
  }
  throw new Error('hookspan view ended')
}

it('is one: the page that `view` prints, what linkTo() gives, and what `doctor` says, by either name of the host', async () => {
  const { page, endpoint } = await view()
  const { origin } = new URL(page)
  expect(endpoint).toBe(origin)

  for (const given of [endpoint, endpoint.replace('127.0.0.1', 'localhost')]) {
    const tracing = startTracing({ endpoint: given, flushOnExit: false })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    const op = dispatcher.startOperation({ agentName: 'support' })
    await op.complete()
    const { url, traceId } = await tracing.linkTo(op)
    await tracing.shutdown()
    expect(url).toBe(`${origin}/run/${traceId}`)
    expect((await fetch(url ?? '')).status).toBe(200)
  }

  const { stdout } = await runCli(['doctor', '--json', '--endpoint', endpoint])
  expect(stdout).toMatch(new RegExp(`the test span was taken: ${origin}/run/[0-9a-f]{32}"`))
})
