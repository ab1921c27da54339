import { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { proxyOfNode } from './otlp-post.ts'
import { requestWriter } from './otlp-sender.ts'
import type { OtlpTarget } from './otlp-target.ts'
import type { Parcel } from './parcel.ts'

const DONE = 0
const DELIVERED = 1

const POST = `
const { workerData } = require('node:worker_threads')
const { url, headers, tls, bodies, shared, proxyEnv } = workerData
const { Agent, request } = require(url.startsWith('https:') ? 'node:https' : 'node:http')
const state = new Int32Array(shared)
const agent = new Agent({ keepAlive: true, maxSockets: 1, proxyEnv, ...tls })
const post = (body) => new Promise((resolve, reject) => {
  const posted = request(url, { method: 'POST', agent, headers: { ...headers, 'content-length': body.byteLength } })
  posted.once('error', reject)
  posted.once('response', (response) => {
    response.resume().once('end', () => resolve(response.statusCode)).once('error', reject)
  })
  posted.end(body)
})
async function postAll() {
  for (const body of bodies) {
    const status = await post(body)
    if (status < 200 || status > 299) return
    Atomics.add(state, ${DELIVERED}, 1)
  }
}
postAll().catch(() => {}).finally(() => {
  Atomics.store(state, ${DONE}, 1)
  Atomics.notify(state, ${DONE})
})`

/**
 * Posts from within an `exit` handler, where nothing asynchronous of this thread runs any more: another thread does
 * it, and this one waits for it.
 *
 * @returns how many of the batches were taken. Never throws.
 */
export function postAtExit(target: OtlpTarget, batches: readonly Parcel[][], timeoutMs: number): number {
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const state = new Int32Array(shared)
  // Without what the application preloads: that may trace, too, or take longer than there is time.
  const { NODE_OPTIONS: _, ...env } = process.env
  try {
    const { headers: own, write } = requestWriter(target)
    const bodies = batches.map((batch) => (target.gzip ? gzipSync(write(batch)) : write(batch)))
    const headers = { ...target.headers, ...own }
    const { proxyEnv } = proxyOfNode()
    // Of the environment a thread is given a copy.
    const workerData = {
      url: target.url,
      tls: target.tls,
      headers,
      bodies,
      shared,
      proxyEnv: proxyEnv && { ...proxyEnv },
    }
    new Worker(POST, { eval: true, env, execArgv: [], workerData })
    Atomics.wait(state, DONE, 0, timeoutMs)
  } catch {
    // No threads here, or not any more: nothing was delivered.
  }
  return Atomics.load(state, DELIVERED)
}
