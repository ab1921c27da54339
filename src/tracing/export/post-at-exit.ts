import { Worker } from 'node:worker_threads'

/** What is posted while the process exits. */
export interface LastPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodies: readonly string[]
}

const DONE = 0
const DELIVERED = 1

const POST = `
const { workerData } = require('node:worker_threads')
const { url, headers, bodies, shared } = workerData
const state = new Int32Array(shared)
async function post() {
  for (const body of bodies) {
    const answer = await fetch(url, { method: 'POST', headers, body })
    if (!answer.ok) return
    Atomics.add(state, ${DELIVERED}, 1)
  }
}
post().catch(() => {}).finally(() => {
  Atomics.store(state, ${DONE}, 1)
  Atomics.notify(state, ${DONE})
})`

/**
 * Posts from within an `exit` handler, where nothing asynchronous of this thread runs any more: another thread does
 * it, and this one waits for it.
 *
 * @returns how many of the bodies were taken. Never throws.
 */
export function postAtExit({ url, headers, bodies }: LastPost, timeoutMs: number): number {
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const state = new Int32Array(shared)
  const json = { ...headers, 'content-type': 'application/json' }
  // Without what the application preloads: that may trace, too, or take longer than there is time.
  const { NODE_OPTIONS: _, ...env } = process.env
  try {
    new Worker(POST, { eval: true, env, execArgv: [], workerData: { url, headers: json, bodies, shared } })
    Atomics.wait(state, DONE, 0, timeoutMs)
  } catch {
    // No threads here, or not any more: nothing was delivered.
  }
  return Atomics.load(state, DELIVERED)
}
