import { createServer } from 'node:http'
import { type AddressInfo, createServer as listenOnly } from 'node:net'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { expect, it, onTestFinished } from 'vitest'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { start } from './start.ts'
import { getJson } from './support.ts'

function trace(endpoint: string): HookDispatcher {
  const tracing = startTracing({ serviceName: 'test', endpoint, queue: { onTrouble: () => {} } })
  onTestFinished(() => tracing.shutdown({ timeoutMs: 1_000 }))
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  return dispatcher
}

async function listen(answer: (url: string) => number): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    request
      .resume()
      .on('end', () => response.writeHead(answer(request.url ?? '')).end('{"name":"hookspan-viewer"}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  return { port: (server.address() as AddressInfo).port, close }
}

const soon = { timeout: 60_000, interval: 50 }
const RUNNING = [expect.objectContaining({ agent: 'patient', status: 'running' })]

it('a run that began while nobody was there is shown once a viewer is, without anything new in it', async () => {
  let tried = 0
  const nobody = listenOnly((socket) => {
    tried++
    socket.destroy()
  })
  await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve))
  const { port } = nobody.address() as AddressInfo
  const dispatcher = trace(`http://127.0.0.1:${port}`)
  const operation = dispatcher.startOperation({ agentName: 'patient' })
  await expect.poll(() => tried, soon).toBeGreaterThan(0)
  await new Promise((resolve) => nobody.close(resolve))
  const viewer = await start({ port })
  await expect.poll(async () => (await getJson<RunList>(viewer, '/api/runs')).runs, soon).toEqual(RUNNING)
  await operation.complete()
})

it('a run of which the viewer did not take the beginning is shown once it does', async () => {
  let refused = 0
  const { port, close } = await listen((url) => {
    if (url !== '/v1/traces') return 200
    refused++
    return 503
  })
  const operation = trace(`http://127.0.0.1:${port}`).startOperation({ agentName: 'patient' })
  await expect.poll(() => refused, soon).toBeGreaterThan(0)
  const refusedUs = Date.now() * 1000
  await close()
  const viewer = await start({ port })
  await expect.poll(async () => (await getJson<RunList>(viewer, '/api/runs')).runs, soon).toEqual(RUNNING)
  // However late it is sent, it is as old as it is: what another process says of it since stands.
  const [span] = viewer.store.records((await getJson<RunList>(viewer, '/api/runs')).runs[0]!.traceId)
  expect(span!.endUs).toBeGreaterThanOrEqual(span!.startUs - 1_000)
  expect(span!.endUs).toBeLessThanOrEqual(refusedUs)
  await operation.complete()
})

it('another backend is asked once, and sent no span that has not ended', async () => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    request.resume().on('end', () => response.writeHead(404).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const operation = trace(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).startOperation({
    agentName: 'patient',
  })
  await expect.poll(() => asked).toEqual(['/v1/hookspan'])
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(asked).toEqual(['/v1/hookspan'])
  await operation.complete()
})
