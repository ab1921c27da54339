/** Programs that work in other people's folders go to them: paths are those of where they were given. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { execAgent, sqliteCheckpoints, unfinishedRuns } from 'hookspan/agent'
import { auditLog } from 'hookspan/approval'
import { callTools, recordTools, scriptedModel } from 'hookspan/mock'
import { commandGate, commandHooks, loadConfigSync, webhookHook } from 'hookspan/policies'
import { startViewer } from 'hookspan/viewer'
import { afterEach, beforeEach, expect, it } from 'vitest'

const started = process.cwd()
let own: string
let other: string

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-folder-'))
  own = join(folder, 'own')
  other = join(folder, 'other')
  for (const one of [own, other]) mkdirSync(one)
  process.chdir(own)
})
afterEach(() => {
  process.chdir(started)
  rmSync(join(own, '..'), { recursive: true })
})

const inOther = () => readdirSync(other)

/** A gate in the folder of somebody else who wants everything to be allowed. */
function program(folder: string, decision: object): void {
  const path = join(folder, 'guard.sh')
  writeFileSync(path, `#!/bin/sh\ncat > /dev/null\necho '${JSON.stringify(decision)}'\n`)
  chmodSync(path, 0o755)
}

it.each([
  ['a program', { command: './guard.sh' }],
  ['an argument', { command: 'sh', args: ['guard.sh'] }],
  ['a folder', { command: './guard.sh', cwd: '.' }],
])('a command gate is the one that was named, not one where the process is now (%s)', async (_, command) => {
  program(own, { decision: 'deny', reason: 'ours' })
  program(other, { decision: 'proceed' })
  const dispatcher = new HookDispatcher()
  const gate = commandGate({ id: 'guard', point: 'beforeToolCall', ...command })
  dispatcher.use({ name: 'guard', gates: [gate] })
  process.chdir(other)
  const op = dispatcher.startOperation()
  const outcome = await op.step((step) => step.toolCall({ apiName: 'rm', args: {} }, () => 'ran'))
  await op.complete()
  expect(outcome).toMatchObject({ state: 'denied', reason: 'ours' })
})

it('a command hook is the one that was named', async () => {
  for (const [folder, name] of [
    [own, 'ours'],
    [other, 'theirs'],
  ] as const)
    writeFileSync(join(folder, 'hook.sh'), `cat > /dev/null; echo ${name} > '${own}/told'`)
  const dispatcher = new HookDispatcher()
  const hooks = commandHooks({ id: 'told', types: ['onComplete'], command: 'sh', args: ['hook.sh'] })
  dispatcher.use({ name: 'told', hooks })
  process.chdir(other)
  await dispatcher.startOperation().complete()
  await dispatcher.drain()
  expect(readFileSync(join(own, 'told'), 'utf8')).toBe('ours\n')
})

it('the audit log goes on in its file', async () => {
  const log = auditLog({ path: 'audit.jsonl' })
  await log.append({ event: 'requested', requestId: 'a' })
  process.chdir(other)
  await log.append({ event: 'answered', requestId: 'a' })
  expect(readFileSync(join(own, 'audit.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2)
  expect(inOther()).toEqual([])
})

it.each([
  ['one who looks from elsewhere', 'resident', 'wanderer'],
  ['one who begins it elsewhere', 'wanderer', 'resident'],
  ['one who looks through a link', 'resident', 'linked'],
  ['one who begins it through a link', 'linked', 'resident'],
] as const)('a run that goes on is nobody else’s (%s)', async (_, begins, looking) => {
  const resident = sqliteCheckpoints({ path: join(own, 'checkpoints.db') })
  symlinkSync(join(own, 'checkpoints.db'), join(other, 'link.db'))
  const stores = {
    resident,
    wanderer: sqliteCheckpoints({ path: 'checkpoints.db' }),
    linked: sqliteCheckpoints({ path: join(other, 'link.db') }),
  }
  const [runs, looks] = [stores[begins], stores[looking]]
  const { promise, resolve: release } = Promise.withResolvers<void>()
  let isRunning = false
  const execute = () => {
    isRunning = true
    return promise
  }
  process.chdir(other)
  const client = scriptedModel([callTools(['wait', {}]), 'done'])
  const agent = { name: 'a', model: 'm', tools: [{ name: 'wait', execute }] }
  const run = execAgent({ agent, client, prompt: 'go', checkpoint: runs })
  await expect.poll(() => isRunning).toBe(true)
  expect(await unfinishedRuns(looks)).toMatchObject([{ state: 'running' }])
  release()
  expect(await run).toMatchObject({ status: 'done' })
  for (const store of Object.values(stores)) await store.dispose?.()
  expect(inOther()).toEqual(['link.db'])
})

it('the audit log is one, by whatever name it is written', async () => {
  const log = auditLog({ path: 'audit.jsonl' })
  await log.append({ event: 'requested', requestId: 'a' })
  symlinkSync(join(own, 'audit.jsonl'), join(other, 'link.jsonl'))
  const linked = auditLog({ path: join(other, 'link.jsonl') })
  const written: string[] = []
  const first = log.exclusively?.(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    written.push('first')
  })
  await linked.append({ event: 'requested', requestId: 'b' }).then(() => written.push('second'))
  await first
  expect(written).toEqual(['first', 'second'])
  expect(inOther()).toEqual(['link.jsonl'])
})

it('what no webhook takes is kept where it was to be', async () => {
  const url = 'https://127.0.0.1:9/'
  const to = { maxAttempts: 1, allowPrivateAddresses: true, deadLetterPath: 'dead.jsonl' }
  const hook = webhookHook({ id: 'a', type: 'onComplete', url, ...to })
  mkdirSync('configured')
  const entry = { id: 'b', type: 'webhook', on: 'onComplete', url, ...to }
  writeFileSync('configured/hookspan.config.json', JSON.stringify({ hooks: [entry] }))
  const { plugin } = loadConfigSync({ cwd: join(own, 'configured'), userFile: false })
  process.chdir(other)
  const dispatcher = new HookDispatcher()
  dispatcher.use(plugin)
  await dispatcher.startOperation({ hooks: [hook] }).complete()
  const buried = (path: string) => existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).webhookId
  await expect
    .poll(() => [buried(join(own, 'dead.jsonl')), buried(join(own, 'configured', 'dead.jsonl'))])
    .toEqual(['a', 'b'])
  expect(inOther()).toEqual([])
})

it('a recording is written where it was to be', async () => {
  const dispatcher = new HookDispatcher()
  const recorder = recordTools(dispatcher, { file: 'recording.json' })
  const op = dispatcher.startOperation()
  await op.step((step) => step.toolCall({ apiName: 'look', args: {} }, () => 'seen'))
  await op.complete()
  await dispatcher.drain()
  process.chdir(other)
  expect(recorder.save()).toBe(join(own, 'recording.json'))
  recorder.stop()
  expect(inOther()).toEqual([])
})

it('the viewer finds its file again', async () => {
  const viewer = await startViewer({ db: 'traces.db', port: 0 })
  try {
    process.chdir(other)
    const body = JSON.stringify({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId: '1'.repeat(32),
                  spanId: '2'.repeat(16),
                  name: 'invoke_agent a',
                  startTimeUnixNano: '1700000000000000000',
                  endTimeUnixNano: '1700000001000000000',
                },
              ],
            },
          ],
        },
      ],
    })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${viewer.otlpEndpoint}/v1/traces`, { method: 'POST', headers, body })
    expect([answer.status, await answer.text()]).toEqual([200, expect.not.stringContaining('removed')])
  } finally {
    await viewer.close()
  }
  expect(inOther()).toEqual([])
})
