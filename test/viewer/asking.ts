import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Approvals, auditLog, createApprovals, sqliteStore } from 'hookspan/approval'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { expect } from 'vitest'

export interface Asking {
  viewer: Viewer
  approvals: Approvals
  /** The store as a third party sees it. */
  audit: string
  file: string
  /** Starts an agent in a process of its own; gives what it printed, once it has ended. */
  ask(...operationIds: string[]): { ended: Promise<unknown>; printed(): string }
  /** As the page asks, with the token unless another is given. */
  call(
    path: string,
    init?: { body?: unknown; token?: string; headers?: Record<string, string> },
  ): Promise<Response>
  waiting(): Promise<{ id: string; traceId: string; argsDigest: string; args: unknown }>
  [Symbol.asyncDispose](): Promise<void>
}

/** A viewer that answers from a real file, which the agents' processes share. */
export async function startAsking(): Promise<Asking> {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-asking-'))
  const file = join(folder, 'approvals.db')
  const audit = join(folder, 'audit.jsonl')
  const approvals = createApprovals({ store: sqliteStore({ path: file }), audit: auditLog({ path: audit }) })
  const viewer = await startViewer({ db: ':memory:', port: 0, approvals, approver: 'ines' })
  const script = fileURLToPath(new URL('processes/ask-a-person.ts', import.meta.url))
  const children = new Set<ReturnType<typeof spawn>>()
  const call: Asking['call'] = (path, { body, token = viewer.token, headers = {} } = {}) =>
    fetch(`${viewer.url}/api/approvals${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  return {
    viewer,
    approvals,
    audit,
    file,
    call,
    ask(...operationIds) {
      const child = spawn(process.execPath, [script, file, audit, viewer.url, ...operationIds], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.add(child)
      let text = ''
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk
      })
      return { ended: once(child, 'close'), printed: () => text }
    },
    async waiting() {
      type Waiting = Awaited<ReturnType<Asking['waiting']>>
      let found: Waiting | undefined
      await expect
        .poll(
          async () => {
            const { requests } = (await (await call('')).json()) as { requests: Waiting[] }
            found = requests[0]
            return found
          },
          { timeout: 15_000 },
        )
        .toBeDefined()
      return found!
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL')
      await viewer.close()
      await approvals.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
