/**
 * One process of a run that needs a human: `ask` begins it, `answer` answers, `finish` resumes it. It kills itself with
 * SIGKILL at the point that KILL_AT names.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { type Agent, type AgentRun, execAgent, resumeAgent } from 'hookspan/agent'
import { type ApprovalStore, type AuditLog, auditLog, createApprovals, sqliteStore } from 'hookspan/approval'
import { operationIdGenerator, traceHooks } from 'hookspan/tracing'
import { statelessModel } from '../support/stateless-model.ts'
import type { SpanLine } from './trace.ts'

const [phase = '', folder = ''] = process.argv.slice(2)
const at = (name: string) => `${folder}/${name}`

/** Everything a process does from here on is lost; what it did is not. */
function killPoint(name: string): void {
  if (process.env.KILL_AT === `${phase}:${name}`) process.kill(process.pid, 'SIGKILL')
}

function append(file: string, text: string): void {
  appendFileSync(at(file), `${text}\n`)
}

function around<T extends object>(target: T, prefix: string, methods: readonly string[]): T {
  const wrapped = Object.fromEntries(
    methods.map((method) => [
      method,
      async (...args: unknown[]) => {
        killPoint(`before ${prefix}.${method}`)
        const call = (target as Record<string, (...given: unknown[]) => Promise<unknown>>)[method]
        const result = await call?.(...args)
        killPoint(`after ${prefix}.${method}`)
        return result
      },
    ]),
  )
  return { ...target, ...wrapped }
}

const store = around<ApprovalStore>(sqliteStore({ path: at('approvals.db') }), 'store', [
  'add',
  'get',
  'answer',
  'claim',
  'settle',
])
const audit = around<AuditLog>(auditLog({ path: at('audit.jsonl') }), 'audit', ['append'])
const approvals = createApprovals({ store, audit, mode: 'park' })

function note(at: SpanLine['at'], span: ReadableSpan): void {
  const { traceId, spanId } = span.spanContext()
  const parentId = span.parentSpanContext?.spanId
  const line: SpanLine = {
    at,
    pid: process.pid,
    name: span.name,
    traceId,
    spanId,
    ...(parentId && { parentId }),
  }
  append('spans.jsonl', JSON.stringify(line))
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
dispatcher.use(approvals)
dispatcher.use(traceHooks({ tracer: provider.getTracer('kill') }))
const types = [
  'beforeStep',
  'afterStep',
  'beforeToolCall',
  'afterToolCall',
  'beforeHumanIntervention',
  'afterHumanIntervention',
  'onComplete',
  'beforeLlmCall',
  'afterLlmCall',
] as const
dispatcher.use({
  name: 'see',
  hooks: types.map((type) => ({ id: type, type, handler: () => killPoint(type) })),
})

const agent: Agent = {
  name: 'support',
  model: 'stateless',
  tools: [
    {
      name: 'delete_order',
      parameters: { type: 'object', properties: { id: { type: 'number' } } },
      needsApproval: true,
      execute: async (args) => {
        killPoint('before the effect')
        append('ran.log', JSON.stringify(args))
        killPoint('after the effect')
        return 'deleted'
      },
    },
  ],
}
const client = statelessModel((messages) => {
  const result = messages.find((message) => message.role === 'tool')
  return result
    ? { content: String(result.content) }
    : { calls: [{ id: 'c1', name: 'delete_order', args: { id: 7 } }] }
})

function save(file: string, run: AgentRun): void {
  killPoint(`before saving ${file}`)
  writeFileSync(at(`${file}.new`), JSON.stringify(run))
  killPoint(`while saving ${file}`)
  renameSync(at(`${file}.new`), at(file))
  killPoint(`after saving ${file}`)
}

const price = () => 0
if (phase === 'ask' && !existsSync(at('waiting.json'))) {
  killPoint('start')
  save(
    'waiting.json',
    await execAgent({ agent, prompt: 'delete 7', client, dispatcher, operationId: 'run-1', priceOf: price }),
  )
} else if (phase === 'answer') {
  for (const { request } of await approvals.list({ status: 'pending' })) {
    await approvals.respond(request.id, {
      decision: 'approve',
      approver: 'ann',
      argsDigest: request.argsDigest,
    })
    killPoint('answered')
  }
} else if (phase === 'finish' && !existsSync(at('done.json'))) {
  const { state } = JSON.parse(readFileSync(at('waiting.json'), 'utf8')) as { state: string }
  killPoint('start')
  save('done.json', await resumeAgent({ agent, state, client, dispatcher, priceOf: price }))
}
await dispatcher.shutdown()
await approvals.close()
