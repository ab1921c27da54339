import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { eventsOf, findAll } from '../support/told-events.ts'
import type { ClaudeReply } from './subjects/claude-agent.ts'
import { askClaude, saying } from './support/ask-claude.ts'
import type { Untyped } from './support/sdks.ts'

const NAME = '@anthropic-ai/claude-agent-sdk'
const sdk: Untyped = await import(NAME)

const bash = (command: string): ClaudeReply => ({
  toolCalls: [{ id: 'call_1', name: 'Bash', args: { command, description: 'Does it' } }],
})
const done: ClaudeReply = { content: 'done' }
const permitted = { tools: ['Bash'], allowedTools: ['Bash'] }

/** Claude Code may be gone before it has said that it was interrupted, which is what is asked for. */
const interrupt = (query: Untyped): Promise<void> => query.interrupt().catch(() => {})

/** What is told of a query that is left in this way while its shell is at work. */
async function leftAtWork(leave: (query: Untyped) => unknown) {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  let query: Untyped
  const handler = () => void setTimeout(() => leave(query), 1_000)
  dispatcher.use({ name: 'leaves', hooks: [{ id: 'leaves', type: 'beforeToolCall', handler }] })
  const onMessage = (_message: Untyped, one: Untyped) => {
    query = one
  }
  const options = { ...permitted }
  const error = await askClaude(dispatcher, [bash('sleep 20'), done], options, { onMessage }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { error, events }
}

it.each([
  ['interrupt', interrupt, /error_during_execution|ede_diagnostic/],
  ['close', (query: Untyped) => query.close(), undefined],
])('a run that %s() ends is interrupted, and its tool was not refused', async (_how, leave, thrown) => {
  const { error, events } = await leftAtWork(leave)
  if (thrown === undefined) expect(error).toBeUndefined()
  else expect(String(error)).toMatch(thrown)
  expect(findAll(events, 'afterToolCall')).toEqual([])
  expect(findAll(events, 'onToolCallError')).toMatchObject([{ apiName: 'Bash' }])
  expect(findAll(events, 'onError')).toEqual([])
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
})

it('a run that canUseTool interrupts is interrupted, and its call rejected', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const canUseTool = async () => ({ behavior: 'deny', message: 'not that', interrupt: true })
  const asked = askClaude(dispatcher, [bash('touch made'), done], { tools: ['Bash'], canUseTool })
  await expect(asked).rejects.toThrow()
  expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome: 'rejected', reason: 'not that' }])
  expect(findAll(events, 'onError')).toEqual([])
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
})

it('a run that a hook interrupts which is to permit a call is interrupted, and its call denied', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const decision = { behavior: 'deny', message: 'not that', interrupt: true }
  const hook = async () => ({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } })
  const options = { tools: ['Bash'], hooks: { PermissionRequest: [{ hooks: [hook] }] } }
  await expect(askClaude(dispatcher, [bash('touch made'), done], options)).rejects.toThrow()
  expect(findAll(events, 'afterHumanIntervention')).toMatchObject([{ rejectionReason: 'not that' }])
  expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome: 'denied' }])
  expect(findAll(events, 'onError')).toEqual([])
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
})

it('a tool of this process that is interrupted while canUseTool is asked is not run, and refused', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const ran: unknown[] = []
  const wipe = sdk.tool('wipe', 'Wipes.', { q: z.string() }, async (args: object) => void ran.push(args))
  const mcpServers = { mine: sdk.createSdkMcpServer({ name: 'mine', tools: [wipe] }) }
  let query: Untyped
  const canUseTool = async (_name: string, updatedInput: object, { signal }: Untyped) => {
    const left = new Promise((resolve) => signal.addEventListener('abort', resolve))
    void interrupt(query)
    await left
    return { behavior: 'allow', updatedInput }
  }
  const onMessage = (_message: Untyped, one: Untyped) => {
    query = one
  }
  const toolCalls = [{ id: 'call_1', name: 'mcp__mine__wipe', args: { q: 'a' } }]
  const asked = askClaude(
    dispatcher,
    [{ toolCalls }, done],
    { tools: [], mcpServers, canUseTool },
    { onMessage },
  )
  await expect(asked).rejects.toThrow()
  expect(ran).toEqual([])
  expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome: 'denied', code: 'tool_approval' }])
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
}, 20_000)

it('a query that is closed once it is answered is done', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  async function* prompt() {
    yield saying('One.')
    await new Promise(() => {})
  }
  const onMessage = ({ type }: Untyped, query: Untyped) => type === 'result' && query.close()
  await askClaude(dispatcher, [done], { tools: [] }, { prompt: prompt(), onMessage })
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done' }])
})

it('nobody is asked any more about a call of a prompt that was interrupted', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const asked = Promise.withResolvers<Untyped>()
  const requested = async (request: Untyped) => asked.resolve(request)
  const approvals = createApprovals({ store: memoryStore(), channels: [{ name: 'human', requested }] })
  dispatcher.use(approvals)
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'Bash' })] })
  const late = Promise.withResolvers<void>()
  async function* prompt() {
    yield saying('One.')
    await late.promise
    yield saying('Two.')
  }
  const answered: string[] = []
  const onMessage = async ({ type, subtype }: Untyped, query: Untyped) => {
    if (type === 'assistant') void asked.promise.then(() => interrupt(query))
    if (type !== 'result' || subtype === 'success') return
    const { id, argsDigest } = await asked.promise
    const answer = approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
    await answer.catch(({ message }: Error) => answered.push(message))
    late.resolve()
  }
  await askClaude(dispatcher, [bash('echo made'), done], permitted, { prompt: prompt(), onMessage })
  expect(answered).toEqual([expect.stringContaining('was cancelled')])
  expect(findAll(events, 'onToolCallError')).toMatchObject([{ apiName: 'Bash' }])
  expect(findAll(events, 'afterToolCall')).toEqual([])
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done' }])
})
