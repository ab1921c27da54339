import {
  type AgentHook,
  type AnyHookType,
  HookDispatcher,
  type HookEvent,
  type HookFailure,
  type Operation,
  type OperationInit,
} from 'hookspan'
import { type Approver, type Gate, requireApproval } from 'hookspan/gates'
import { ALL_TYPES } from '../support/told-events.ts'

export { ALL_TYPES }

/** Lets everything that is ready run: promises, then timers that are due. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const never = (): Promise<never> => new Promise(() => {})

export type Handler = (event: HookEvent, context: { signal: AbortSignal }) => unknown

type HookOptions = Omit<Partial<AgentHook>, 'type' | 'handler' | 'match'> & { match?: unknown }

/** A hook whose handler may return anything, as one written in JavaScript does. */
export function hook(type: AnyHookType, handler: Handler, more: HookOptions = {}): AgentHook {
  return { id: type, type, handler, ...more } as AgentHook
}

/** The same handler for each of the twenty types. */
export function hooksOfEveryType(handler: Handler, more: HookOptions = {}): AgentHook[] {
  return ALL_TYPES.map((type) => hook(type, handler, { ...more, id: `${more.id ?? 'every'} ${type}` }))
}

/** A handler that keeps its events. */
export function collector(): { events: HookEvent[]; handler: Handler; sequences: () => number[] } {
  const events: HookEvent[] = []
  return {
    events,
    handler: (event) => void events.push(event),
    sequences: () => events.map(({ sequence }) => sequence),
  }
}

/** One operation of a dispatcher of its own, and all that its hooks, those of its children included, are told. */
export function startWatched(init: OperationInit = {}) {
  const { events, handler } = collector()
  const dispatcher = new HookDispatcher(failures())
  dispatcher.use({ name: 'all', hooks: hooksOfEveryType(handler) })
  const op = dispatcher.startOperation({ operationId: 'op', ...init })
  return { events, op, dispatcher, types: () => events.map(({ hookType }) => hookType) }
}

/** Failures go into a list instead of onto the console. The list is no option of the dispatcher that is given this. */
export function failures(): { list: HookFailure[]; onHookError: (failure: HookFailure) => void } {
  const list: HookFailure[] = []
  const options = { onHookError: (failure: HookFailure) => void list.push(failure) }
  return Object.defineProperty(options, 'list', { value: list }) as never
}

async function* chunks(texts: readonly string[], end?: Error) {
  for (const content of texts) yield { choices: [{ index: 0, delta: { content } }] }
  if (end !== undefined) throw end
}

const asking: Gate = {
  id: 'ask',
  point: 'beforeToolCall',
  decide: (ctx) =>
    ctx.apiName?.startsWith('ask') ? requireApproval({ instructions: 'really?' }) : undefined,
}

const human: Approver = {
  requestApproval: async ({ apiName }) =>
    apiName === 'askThenStop'
      ? { decision: 'reject', reason: 'no', stop: true, approver: 'ada' }
      : { decision: 'edit', args: { amount: 1 }, approver: 'ada' },
}

/**
 * Two runs that together fire each of the twenty hook types: everything that a call can do is done once. Gives what
 * the runtime saw, in the order in which it saw it.
 */
export async function everything(dispatcher: HookDispatcher, init: OperationInit = {}): Promise<unknown[]> {
  const seen: unknown[] = []
  const note = (name: string, value: unknown) => void seen.push([name, value])
  const caught = async (name: string, run: () => Promise<unknown>) => {
    try {
      note(name, await run())
    } catch (error) {
      note(`${name} threw`, (error as Error).message)
    }
  }
  const common = {
    agentName: 'support',
    userId: 'u1',
    conversationId: 'c1',
    gates: [asking],
    approver: human,
  }
  const op = dispatcher.startOperation({ ...common, input: { goal: 'help' }, operationId: 'good', ...init })
  await op.step(async (step) => {
    const llm = { model: 'gpt-4o', request: { messages: [{ role: 'user', content: 'hi' }] } }
    await caught('reply', () =>
      step.llmCall(llm, () => ({ content: 'hello', usage: { inputTokens: 3, outputTokens: 2 } })),
    )
    await caught('no reply', () => step.llmCall(llm, () => Promise.reject(new Error('overloaded'))))
    await caught('stream', () => step.llmCall(llm, () => chunks(['a', 'b'])).then(readAll))
    await caught('broken', () => step.llmCall(llm, () => chunks(['a'], new Error('cut'))).then(readAll))
    await caught('abandoned', () => step.llmCall(llm, () => chunks(['a', 'b'])).then(readOne))
    step.report({ shouldContinue: true })
  })
  await op.step(async (step) => {
    const call = (apiName: string, fn: (args: { city: string[] }) => unknown) =>
      caught(apiName, () =>
        step.toolCall({ apiName, args: { city: ['Berlin'] }, toolCallId: 'same' }, fn).then(plain),
      )
    await call('returns', (args) => ({ got: args.city }))
    await call('throwsSync', () => {
      throw new TypeError('bad city')
    })
    await call('rejects', () => Promise.reject(new Error('sold out')))
    await call('thenable', () => ({ then: (resolve: (value: string) => void) => resolve('later') }))
    await call('generator', async function* () {
      yield 1
      yield 2
    })
    await call('askFirst', (args) => args)
    const b = Promise.withResolvers<void>()
    const afterB = () => b.promise.then(turn)
    await Promise.all([
      call('parallelA', afterB),
      call('parallelB', () => {
        b.resolve()
        return 'b'
      }),
    ])
  })
  await op.step(async (step) => {
    const ask = { agentName: 'researcher', instruction: 'find it' }
    await caught('sub-agent', () =>
      step.callAgent(ask, async (parent) => {
        const child = dispatcher.startOperation({ agentName: 'researcher', operationId: 'child', parent })
        await child.step(() => 'child step')
        await child.complete({ content: 'found' })
        return { operationId: child.operationId, status: 'done', content: 'found' }
      }),
    )
    await caught('lost sub-agent', () => step.callAgent(ask, () => Promise.reject(new Error('lost'))))
    const size = { messageCount: 10, tokenCount: 900 }
    await caught('compact', () =>
      step.compact(size, () => ({ messagesAfter: 2, tokensAfter: 90, summary: 's' })),
    )
    await caught('no compact', () => step.compact(size, () => Promise.reject(new Error('too long'))))
  })
  await op.complete({ content: 'bye' })
  const failing = dispatcher.startOperation({ ...common, operationId: 'bad', ...init })
  await failing.step(async (step) => {
    await caught('stopped', () =>
      step.toolCall({ apiName: 'askThenStop', args: {} }, () => 'never').then(plain),
    )
  })
  await failing.fail(new RangeError('out of luck'))
  note('totals', counts(op))
  return seen
}

export async function readAll(stream: unknown): Promise<unknown[]> {
  const texts: unknown[] = []
  for await (const chunk of stream as AsyncIterable<unknown>) texts.push(chunk)
  return texts
}

async function readOne(stream: unknown): Promise<unknown> {
  for await (const chunk of stream as AsyncIterable<unknown>) return chunk
  return undefined
}

/** An outcome as plain data; an error by its name and message. */
function plain(outcome: { state: string; toToolMessage(): unknown }): unknown {
  const { error, ...rest } = outcome as { state: string; error?: Error }
  return {
    ...rest,
    message: outcome.toToolMessage(),
    ...(error && { error: `${error.name}: ${error.message}` }),
  }
}

function counts(op: Operation) {
  const { durationMs: _durationMs, ...totals } = op.totals
  return totals
}
