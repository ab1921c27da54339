/** A file that somebody removes while a process has it open: SQLite goes on in what nobody finds again. */
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { type AgentTool, execAgent, resumeAgent, sqliteCheckpoints, unfinishedRuns } from 'hookspan/agent'
import { type ApprovalStore, createApprovals, sqliteStore } from 'hookspan/approval'
import { callTools, scriptedModel } from 'hookspan/mock'
import { afterEach, beforeEach, expect, it } from 'vitest'

let folder: string
let path: string
const opened: { dispose?(): Promise<void> }[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hookspan-removed-'))
  path = join(folder, 'store.db')
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.dispose?.()
  rmSync(folder, { recursive: true })
})

function open<T extends { dispose?(): Promise<void> }>(store: T): T {
  opened.push(store)
  return store
}

function remove(): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}

const WAYS: [string, () => void][] = [
  ['removed', remove],
  ['moved away', () => renameSync(path, join(folder, 'backup.db'))],
  [
    'another of its name',
    () => {
      remove()
      open(sqliteStore({ path }))
    },
  ],
]

async function ask(store: ApprovalStore, mode: 'park' | 'wait') {
  const dispatcher = new HookDispatcher()
  dispatcher.use(createApprovals({ store, mode }))
  let ran = 0
  const tools: AgentTool[] = [{ name: 'refund', needsApproval: true, execute: () => ++ran }]
  const client = scriptedModel([callTools(['refund', {}]), 'done'])
  const run = await execAgent({ agent: { name: 'a', model: 'm', tools }, client, prompt: 'go', dispatcher })
  return { run, ran }
}

it.each(WAYS)(
  'a human is not asked where nobody sees the question, and the tool is not run (%s)',
  async (_, lose) => {
    const store = open(sqliteStore({ path }))
    lose()
    for (const mode of ['park', 'wait'] as const) {
      const { run, ran } = await ask(store, mode)
      expect([mode, run.status, ran]).toEqual([mode, 'done', 0])
      expect(JSON.stringify(run.messages)).toContain('approval_error')
    }
    await expect(store.list()).rejects.toThrow(/store\.db was removed, or another file has its name/)
  },
)

it.each(WAYS)('a run says that it is not kept, and nothing more of it is run (%s)', async (_, lose) => {
  const checkpoint = open(sqliteCheckpoints({ path }))
  const ran: string[] = []
  const tool = (name: string, execute: () => void): AgentTool => ({
    name,
    execute: () => {
      ran.push(name)
      execute()
    },
  })
  const tools = [tool('first', lose), tool('second', () => {})]
  const client = scriptedModel([callTools(['first', {}]), callTools(['second', {}]), 'done'])
  const run = await execAgent({ agent: { name: 'a', model: 'm', tools }, client, prompt: 'go', checkpoint })
  const message = expect.stringContaining('store.db was removed')
  expect(run).toMatchObject({ status: 'error', error: { code: 'CHECKPOINT_FAILED', message } })
  expect(ran).toEqual(['first'])
})

it('a file that is put back is gone on with', async () => {
  const checkpoint = open(sqliteCheckpoints({ path }))
  const backup = join(folder, 'backup.db')
  const ran: string[] = []
  const tools: AgentTool[] = [
    {
      name: 'first',
      execute: () => {
        ran.push('first')
        renameSync(path, backup)
      },
    },
  ]
  const agent = { name: 'a', model: 'm', tools }
  const client = scriptedModel([callTools(['first', {}]), 'done'])
  const { operationId } = await execAgent({ agent, client, prompt: 'go', checkpoint })
  renameSync(backup, path)
  expect(await unfinishedRuns(checkpoint)).toMatchObject([{ operationId }])
  const run = await resumeAgent({ agent, client: scriptedModel(['done']), checkpoint, operationId })
  expect(run).toMatchObject({ status: 'done' })
  expect(ran).toEqual(['first'])
})
