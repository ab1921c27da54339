/**
 * The agent that durable runs are tested with, and how a process of it tells what it does: each line is on the disk before the
 * next thing is done, so that whoever kills the process loses none.
 */

import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher, type HookEvent } from 'hookspan'
import type { Agent, AgentTool } from 'hookspan/agent'
import {
  type ApprovalStore,
  createApprovals,
  redisStore,
  sqliteStore,
  webhookChannel,
} from 'hookspan/approval'
import { type Gate, requireApproval } from 'hookspan/gates'
import type { DurableLoop } from 'hookspan/restate'
import { traceHooks } from 'hookspan/tracing'
import { statelessModel, type Turn } from '../../support/stateless-model.ts'
import { tracerTelling } from '../../support/told-spans.ts'

export interface SpanLine {
  readonly span: 'start' | 'end'
  readonly pid: number
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId?: string
}

export interface EventLine {
  readonly hookType: string
  readonly operationId: string
  readonly sequence: number
  readonly toolCallId?: string
  readonly stepIndex?: number
  /** Of `onComplete`: how it ended. */
  readonly reason?: string
  readonly pid: number
}

export interface ToolLine {
  readonly tool: string
  readonly phase: 'begin' | 'end'
  readonly key: string
  readonly pid: number
}

export interface MarkLine {
  readonly mark: string
  readonly pid: number
}

export type Line = SpanLine | EventLine | ToolLine | MarkLine

export function scenario(folder: string) {
  let said = 0
  const say = (line: object) => {
    appendFileSync(`${folder}/told.jsonl`, `${JSON.stringify({ ...line, pid: process.pid })}\n`)
    // Between this and whatever comes next.
    if (String(++said) === process.env.KILL_AFTER) process.kill(process.pid, 'SIGKILL')
  }
  const tracer = tracerTelling(({ at: span, pid: _, ...line }) => say({ span, ...line }))
  const { REDIS, REDIS_PREFIX = '', WEBHOOK } = process.env
  const store = told(
    REDIS === undefined
      ? sqliteStore({ path: `${folder}/approvals.db` })
      : redisStore({ url: REDIS, prefix: REDIS_PREFIX }),
    say,
  )
  const channels =
    WEBHOOK === undefined ? [] : [webhookChannel({ url: WEBHOOK, allowPrivateAddresses: true })]
  const approvals = createApprovals({ store, mode: 'park', channels })
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use(traceHooks({ tracer }))
  const hooks = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].map((type) => ({
    id: type,
    type,
    handler: (event: HookEvent) => {
      const { hookType, operationId, sequence, stepIndex } = event
      const { toolCallId } = event as { toolCallId?: string }
      const reason = event.hookType === 'onComplete' ? event.reason : undefined
      say({ hookType, operationId, sequence, toolCallId, stepIndex, reason })
    },
  }))
  dispatcher.use({ name: 'see', hooks: hooks as never })
  return { folder, say, store, approvals, dispatcher }
}

export type Scenario = ReturnType<typeof scenario>

/** Says what it has done. */
function told(store: ApprovalStore, say: (line: object) => void): ApprovalStore {
  const changing = ['add', 'answer', 'close', 'claim', 'settle'] as const
  const watched = changing.map((name) => [
    name,
    async (...args: never[]) => {
      const given = await (store[name] as (...args: never[]) => Promise<unknown>)(...args)
      say({ mark: `store ${name}` })
      return given
    },
  ])
  return { ...store, ...Object.fromEntries(watched) }
}

/** Tools that a human is asked about in loops: `ASKS` names others. */
const asksAbout = (process.env.ASKS ?? 'delete').split(',')

export const asks: Gate = {
  id: 'ask',
  point: 'beforeToolCall',
  decide: ({ apiName }) => (asksAbout.includes(apiName ?? '') ? requireApproval() : undefined),
}

/** Takes `TOOL_MS`, so that there is something to be killed in, `SLOW` twice as long; with `TOOLS_UNTIL`, until there is that file. */
async function works(name: string): Promise<void> {
  const { TOOL_MS = '0', SLOW, TOOLS_UNTIL } = process.env
  const ms = Number(TOOL_MS) * (name === SLOW ? 2 : 1)
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
  while (TOOLS_UNTIL !== undefined && !existsSync(TOOLS_UNTIL))
    await new Promise((resolve) => setTimeout(resolve, 20))
}

/** `RESULT_BYTES`: more than an engine may keep. */
const extra = '.'.repeat(Number(process.env.RESULT_BYTES ?? 0))

export function toolsOf({ folder, say }: Pick<Scenario, 'folder' | 'say'>) {
  const tool = (name: string, more: Partial<AgentTool> = {}): AgentTool => ({
    name,
    execute: async (_args, { idempotencyKey }) => {
      say({ tool: name, phase: 'begin', key: idempotencyKey })
      await works(name)
      say({ tool: name, phase: 'end', key: idempotencyKey })
      return `${name} done${extra}`
    },
    ...more,
  })
  /** What a service that knows keys has booked. */
  const pay = tool('pay', {
    idempotent: true,
    execute: async (_args, { idempotencyKey }) => {
      say({ tool: 'pay', phase: 'begin', key: idempotencyKey })
      const receipt = `${folder}/${encodeURIComponent(idempotencyKey)}.receipt`
      if (!existsSync(receipt)) {
        writeFileSync(receipt, idempotencyKey)
        say({ mark: `booked ${idempotencyKey}` })
      }
      await works('pay')
      say({ tool: 'pay', phase: 'end', key: idempotencyKey })
      return 'pay done'
    },
  })
  return { pay, tool }
}

/**
 * Pays, writes and lets another agent research at once; then deletes, for which a human is asked; then says what came of it.
 * `TOOL_GONE` names a tool that its code does not have any more.
 */
export function shop(scene: Scenario): Agent {
  const { pay, tool } = toolsOf(scene)
  const tools = [pay, tool('write'), tool('delete', { needsApproval: true })]
  return {
    name: 'shop',
    model: 'stateless',
    tools: tools.filter(({ name }) => name !== process.env.TOOL_GONE),
    subAgents: [{ name: 'researcher', model: 'stateless', tools: [tool('note')] }],
  }
}

const call = (id: string, name: string, args: unknown = {}) => ({ id, name, args })

type Messages = readonly { readonly role: string; readonly content?: unknown }[]

/** What the model of the shop says, out of the conversation alone. */
export const shopAnswer =
  (say: (line: object) => void = () => {}) =>
  (messages: Messages): Turn => {
    say({ mark: 'model' })
    const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
    const isAsked = ({ role, content }: Messages[number]) =>
      role === 'user' && JSON.stringify(content).includes('write it down')
    if (messages.some(isAsked)) {
      return told.length > 0 ? { content: `noted: ${told}` } : { calls: [call('n', 'note')] }
    }
    if (told.length === 0) {
      const research = call('r', 'researcher', { instruction: 'write it down' })
      return { calls: [call('p', 'pay'), call('w', 'write'), research] }
    }
    return told.length === 3 ? { calls: [call('d', 'delete')] } : { content: told.join(' | ') }
  }

export const shopModel = (say?: (line: object) => void) => statelessModel(shopAnswer(say))

/** The same run as a loop of one's own: the research is a tool. */
export function shopLoop(scene: Scenario): DurableLoop<{ prompt: string }> {
  const { pay, tool } = toolsOf(scene)
  const tools = new Map([pay, tool('write'), tool('note'), tool('delete')].map((one) => [one.name, one]))
  scene.dispatcher.use({ name: 'asks', gates: [asks] })
  const plan = [['pay', 'write', 'note'], ['delete'], []]
  return async (run, { prompt }) => {
    const told: string[] = []
    for (;;) {
      const over = await run.step(async (step) => {
        const { next } = await step.llmCall(
          {
            model: process.env.MODEL ?? 'planner',
            request: { messages: [{ role: 'user', content: prompt }] },
          },
          async () => {
            scene.say({ mark: 'model' })
            return { next: plan[told.length === 0 ? 0 : told.length === 3 ? 1 : 2] ?? [] }
          },
        )
        const outcomes = await step.toolCalls(
          next.map((apiName) => {
            const { execute, idempotent = false } = tools.get(apiName) as AgentTool
            return {
              apiName,
              toolCallId: apiName,
              args: {},
              idempotent,
              run: (args, context) => execute(args as never, context),
            }
          }),
        )
        told.push(...outcomes.map(({ content }) => content))
        return next.length === 0
      })
      if (over) return told.join(' | ')
    }
  }
}
