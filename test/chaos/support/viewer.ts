import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ViewerOptions } from 'hookspan/viewer'
import { expect } from 'vitest'
import { COMPILED } from './compiled.ts'

const SCRIPT = fileURLToPath(new URL('../processes/viewer.ts', import.meta.url))

export interface Held {
  /** The longest that the loop was late, in milliseconds of the clock. */
  delayMs: number
  /** The longest that it worked without looking up, in milliseconds of its processor. */
  workedMs: number
  rssMib: number
}

export interface ViewerProcess extends AsyncDisposable {
  readonly url: string
  readonly token: string
  readonly child: ChildProcess
  /** Since the last time it was asked. */
  held(): Promise<Held>
  /** OTLP, as JSON unless it is bytes. */
  send(body: unknown, init?: { path?: string; headers?: Record<string, string> }): Promise<Response>
  ask(path: string, init?: RequestInit): Promise<Response>
  stop(): Promise<void>
}

/** Starts a viewer in a process of its own. */
export async function startViewerProcess(
  options: Pick<ViewerOptions, 'db' | 'maxBytes'>,
): Promise<ViewerProcess> {
  const child = spawn(process.execPath, ['--no-warnings', SCRIPT, JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    env: { ...process.env, ...COMPILED },
  })
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = once(child, 'close')
  const said = await Promise.race([once(child, 'message'), ended])
  const { url, token } = said[0] as { url?: string; token: string }
  if (url === undefined) throw new Error(`The viewer ended before it listened:\n${stderr}`)
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  return {
    url,
    token,
    child,
    async held() {
      child.send({})
      return (await once(child, 'message'))[0] as Held
    },
    send(body, { path = '/v1/traces', headers = {} } = {}) {
      const bytes = body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))
      return fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: bytes as never,
      })
    },
    ask: (path, init) =>
      fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init?.headers } }),
    stop,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Every route that reads, for one run and one of its spans. */
export function routesOf(traceId: string, spanId: string): string[] {
  const run = `/api/runs/${traceId}`
  return [
    '/api/status',
    '/api/runs?limit=10000',
    '/api/runs?q=errors:no+hello',
    '/api/search?q=hello',
    `/api/search?q=hello&run=${traceId}`,
    run,
    `${run}?since=1`,
    `${run}/spans/${spanId}`,
    `${run}/spans/${spanId}?full=1`,
    `${run}/conversation`,
    `${run}/lint`,
    `${run}/events`,
    `${run}/export.json`,
    `${run}/export.html`,
    `/api/diff?a=${traceId}&b=${traceId}`,
    `/run/${traceId}`,
  ]
}

/** Asks each of them, and whether it is answered: 200, or 404 for what is not there. */
export async function askAll(viewer: ViewerProcess, routes: readonly string[]): Promise<void> {
  const failed: string[] = []
  for (const route of routes) {
    const response = await viewer.ask(route)
    const text = await response.text()
    if (response.status !== 200 && response.status !== 404)
      failed.push(`${route}: ${response.status} ${text.slice(0, 300)}`)
  }
  expect(failed).toEqual([])
}
