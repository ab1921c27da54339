/**
 * One process of a run with checkpoints: begins it, or goes on with it where it is in the store, until its result is written
 * down. Says on its standard output what hooks and tracers were told. Nothing in it knows that it may be killed.
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'
import { EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher, type HookEvent } from 'hookspan'
import {
  type Agent,
  type AgentTool,
  execAgent,
  resumeAgent,
  sqliteCheckpoints,
  unfinishedRuns,
} from 'hookspan/agent'
import { operationIdGenerator, traceHooks } from 'hookspan/tracing'
import { statelessModel } from '../../support/stateless-model.ts'
import type { SpanLine } from '../trace.ts'

const [folder = ''] = process.argv.slice(2)
const operationId = 'run-1'

/** A pipe: written at once, and no change of the disk. */
const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`)

function note(at: SpanLine['at'], span: ReadableSpan): void {
  const { traceId, spanId } = span.spanContext()
  const parentId = span.parentSpanContext?.spanId
  say({ at, pid: process.pid, name: span.name, traceId, spanId, ...(parentId && { parentId }) })
}

const provider = new TracerProvider({
  idGenerator: operationIdGenerator(),
  spanProcessors: [
    {
      onStart: (span) => note('start', span),
      onEnd: (span) => note('end', span),
      forceFlush: async () => {},
      shutdown: async () => {},
    },
  ],
})

const dispatcher = new HookDispatcher()
dispatcher.use(traceHooks({ tracer: provider.getTracer('kill') }))
const hooks = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].map((type) => ({
  id: type,
  type,
  handler: (event: HookEvent) => {
    if (event.operationId !== operationId) return
    say({ hookType: event.hookType, sequence: event.sequence })
    // The store forgets the run only after this.
    if (event.hookType === 'onComplete') writeFileSync(`${folder}/done.json`, JSON.stringify(event))
  },
}))
dispatcher.use({ name: 'see', hooks: hooks as never })

const tool = (name: string, more: Partial<AgentTool> = {}): AgentTool => ({
  name,
  execute: async (_args, { idempotencyKey }) => {
    appendFileSync(`${folder}/ran.log`, `${name} ${idempotencyKey}\n`)
    return `${name} done`
  },
  ...more,
})
const agent: Agent = {
  name: 'shop',
  model: 'stateless',
  tools: [tool('pay'), tool('look', { idempotent: true })],
  subAgents: [{ name: 'researcher', model: 'stateless', tools: [tool('note')] }],
}
const call = (id: string, name: string, args: unknown = {}) => ({ id, name, args })
const client = statelessModel((messages) => {
  const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
  if (messages.some(({ content }) => content === 'write it down')) {
    return told.length > 0 ? { content: `noted: ${told}` } : { calls: [call('n', 'note')] }
  }
  if (told.length === 0) {
    const research = call('r', 'researcher', { instruction: 'write it down' })
    return { calls: [call('p1', 'pay'), call('p2', 'pay'), call('l', 'look'), research] }
  }
  return told.length === 4 ? { calls: [call('p3', 'pay')] } : { content: told.join(' | ') }
})

const checkpoint = sqliteCheckpoints({ path: `${folder}/checkpoints.db` })
const shared = { agent, client, dispatcher, checkpoint, operationId, priceOf: () => 0 }
const [kept] = await unfinishedRuns(checkpoint)
if (kept !== undefined) {
  await resumeAgent(shared).catch(({ code }) => {
    // Another process was faster: it goes on with the run, or has ended it.
    if (code !== 'STATE_CLAIMED' && code !== 'INVALID_STATE') throw code
    say({ refused: code })
  })
} else if (!existsSync(`${folder}/done.json`)) await execAgent({ ...shared, prompt: 'go' })
await dispatcher.shutdown()
await checkpoint.dispose?.()
