/** Many who write to one audit log at once: whoever cannot write denies the call. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { verifyAudit } from 'hookspan/approval'
import { expect, it } from 'vitest'
import { folder } from '../approval/support.ts'
import { tell } from './support/tell.ts'

const WRITERS = 30
const ENTRIES = 10

const WRITER = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { path, entries } = workerData
  import('hookspan/approval').then(({ auditLog }) => {
    const log = auditLog({ path })
    parentPort.once('message', async () => {
      const failures = []
      for (let i = 0; i < entries; i++) {
        await log.append({ event: 'requested', requestId: 'r' + i }).catch((error) => failures.push(error.message))
      }
      parentPort.postMessage(failures)
    })
    parentPort.postMessage('up')
  })`

it('thirty that write at once all get their turn', async () => {
  const path = `${folder()}/audit.jsonl`
  const workerData = { path, entries: ENTRIES }
  const workers = Array.from({ length: WRITERS }, () => new Worker(WRITER, { eval: true, workerData }))
  await Promise.all(workers.map((worker) => once(worker, 'message')))
  const written = workers.map((worker) => once(worker, 'message'))
  for (const worker of workers) worker.postMessage('go')
  const failures = (await Promise.all(written)).flat(2)
  await Promise.all(workers.map((worker) => worker.terminate()))
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').length
  tell({ done: `entries of ${WRITERS} writers`, times: WRITERS * ENTRIES, lost: WRITERS * ENTRIES - lines })
  expect(failures).toEqual([])
  expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: WRITERS * ENTRIES })
})
