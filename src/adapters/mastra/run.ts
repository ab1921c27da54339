import type { ParkedOperation } from '../../dispatcher/index.ts'
import { untilAborted, within } from '../../internal/async.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asName, asObject } from '../../wire/reading.ts'
import { stopConditions } from '../sdk-run/loop-limits.ts'
import { type ObservedRun, whenAborted } from '../sdk-run/observed-run.ts'
import { rememberRun } from '../sdk-run/parked-run.ts'
import { runWith, takeRunInit } from '../sdk-run/run-with.ts'
import { decidingLast } from './last-word.ts'
import { type MastraHost, MastraRun } from './mastra-run.ts'
import { observedModels } from './models.ts'
import { tellAnswered, tellAsked } from './own-approval.ts'
import type { MastraAgent, MastraMethod, MastraOptions, MastraResult } from './sdk.ts'
import { observedSteps } from './step.ts'
import { telemetryOf } from './telemetry.ts'
import { tripwireOf } from './tripwire.ts'

/** What an agent was asked for. */
export interface Asked {
  readonly agent: MastraAgent
  readonly call: MastraMethod
  /** Messages; of a run that goes on, what a human said. */
  readonly first: unknown
  readonly options: MastraOptions | undefined
  readonly more: readonly unknown[]
  readonly resumes: boolean
}

/** `generate()`, and going on with it: the run ends with what is given. */
export async function generated(host: MastraHost, asked: Asked): Promise<MastraResult> {
  const started = await begin(host, asked)
  const { run } = started
  let result: MastraResult
  try {
    result = await made(started, asked)
  } catch (error) {
    const refusal = started.refusal ?? error
    await run.fail(refusal)
    throw refusal
  }
  remember(result, started)
  if (result.finishReason === 'suspended') await suspended(started, result)
  const tripped = tripwireOf(result)
  if (tripped !== undefined) await run.fail(tripped)
  const refusal = run.isPart ? undefined : await run.end(asName(result.text))
  if (refusal !== undefined) throw refusal
  return result
}

/** `stream()`, and going on with it: the run ends when the SDK has read the last of it. */
export async function streamed(host: MastraHost, asked: Asked): Promise<MastraResult> {
  const started = await begin(host, asked)
  const { run } = started
  try {
    const defaults = await defaultsOf(asked)
    // Held by none but who reads it: that nobody does any more is seen by that.
    let given: WeakRef<MastraResult> | undefined
    const failure = (event: Finish) => {
      const { tripwire } = given?.deref() ?? {}
      return failureOf(run, { ...event, tripwire })
    }
    const options = { ...defaults, ...defined(asked.options ?? {}) }
    const result = await made(started, asked, async () => ({
      onFinish: finishing(run, options.onFinish, failure),
      ...(await decidingLast(run, asked.agent, options)),
    }))
    given = new WeakRef(result)
    remember(result, started)
    whenAborted(run, () => void run.fail(run.signal?.reason))
    if (!run.isPart) {
      void over(started, result)
      run.leftWith(result)
    }
    return result
  } catch (error) {
    const refusal = started.refusal ?? error
    await run.fail(refusal)
    throw refusal
  }
}

/** Before whoever reads is told that it is over. One that waits may have calls that are still at work. */
function finishing(
  run: ObservedRun,
  own: MastraOptions['onFinish'],
  failureIn: (event: Finish) => unknown,
): (event: Finish) => Promise<unknown> {
  return async (event) => {
    const theirs = await own?.(event as never)
    const failure = failureIn(event)
    if (failure !== undefined) await run.fail(failure)
    const refusal = event.finishReason === 'suspended' || run.isPart ? undefined : await run.over(event.text)
    // Otherwise it is what failed.
    if (refusal !== undefined && failure === undefined) throw refusal
    return theirs
  }
}

interface Finish {
  readonly finishReason?: unknown
  readonly text?: string
  readonly error?: unknown
}

/** What a stream failed with, or who ended it. */
function failureOf(run: ObservedRun, { error, tripwire }: Pick<MastraResult, 'error' | 'tripwire'>): unknown {
  return error === undefined ? tripwireOf({ tripwire }) : (run.failure?.error ?? error)
}

async function over(started: MastraRun, result: MastraResult): Promise<void> {
  const { run } = started
  await result._waitUntilFinished?.()
  if (result.status === 'suspended') await suspended(started, result)
  const failure = failureOf(run, result)
  if (failure === undefined) await run.over()
  else await run.fail(failure)
}

async function suspended(started: MastraRun, result: MastraResult): Promise<void> {
  started.run.waitingFor = 'human'
  if (!started.run.isPart) await tellAsked(started, await result.suspendPayload)
  // What has begun beside the call that waits is not begun once more where the run goes on.
  await started.idle()
}

/** @param more what else the SDK is called with, once the run is admitted. */
async function made(started: MastraRun, asked: Asked, more?: () => Promise<object>): Promise<MastraResult> {
  const { agent, call, first, options, resumes } = asked
  const { run } = started
  const input = await run.admit()
  if (resumes) await tellAnswered(run, first, options ?? {})
  const given = resumes || input === run.input ? first : messagesOf(first, input)
  const defaults = await defaultsOf(asked)
  const observed = {
    ...options,
    ...(await more?.()),
    ...telemetryOf(run, started.host.sdkSpans, options),
    model: observedModels(agent, started, options?.model ?? defaults.model ?? agent.model),
    ...(await preparing(started, asked, defaults)),
    onChunk: telling(run, options?.onChunk ?? defaults.onChunk),
    stopWhen: stopping(run, { ...defaults, ...defined(options ?? {}) }),
  }
  started.given = observed
  return started.within(() => call.call(agent, given, observed, ...asked.more))
}

/** Where somebody may choose another model or other tools for a step: elsewhere Mastra has nothing to prepare, and it stays so. */
async function preparing(
  started: MastraRun,
  { agent, options }: Asked,
  defaults: MastraOptions,
): Promise<Pick<MastraOptions, 'prepareStep'>> {
  const { requestContext } = options ?? {}
  const own = options?.prepareStep ?? defaults.prepareStep
  const processors =
    options?.inputProcessors ??
    defaults.inputProcessors ??
    // What it throws is told where Mastra asks for them.
    (await agent.listConfiguredInputProcessors?.(requestContext).catch(() => undefined)) ??
    []
  return own || processors.length > 0 ? { prepareStep: observedSteps(agent, started, own as never) } : {}
}

/** What is no tool of the agent is called nowhere: Mastra tells the model by itself. */
function telling(run: ObservedRun, own: MastraOptions['onChunk']): (chunk: never) => Promise<unknown> {
  return async (chunk: { readonly type?: unknown; readonly payload?: unknown }) => {
    const { toolName, toolCallId, args, error } = asObject(chunk.payload) ?? {}
    const apiName = asName(toolName)
    const isUnknown = chunk.type === 'tool-error' && asObject(error)?.name === 'ToolNotFoundError'
    if (isUnknown && apiName !== undefined) {
      const calls = await run.calls()
      await calls.failedCall({ apiName, args, ...defined({ toolCallId: asName(toolCallId) }) }, error)
    }
    return own?.(chunk as never)
  }
}

async function defaultsOf({ agent, options }: Asked): Promise<MastraOptions> {
  return (await agent.getDefaultOptions(defined({ requestContext: options?.requestContext }))) ?? {}
}

/** Mastra ends a loop at `maxSteps` beside `stopWhen`, and at five steps where nothing is said. */
function stopping(run: ObservedRun, { stopWhen, maxSteps }: MastraOptions): unknown[] {
  const most = typeof maxSteps === 'number' && maxSteps > 0 ? maxSteps : stopWhen == null ? 5 : undefined
  const isFull = ({ steps }: { readonly steps: readonly unknown[] }) => steps.length === most
  return stopConditions(run, [stopWhen ?? [], most === undefined ? [] : isFull].flat())
}

async function begin(host: MastraHost, asked: Asked): Promise<MastraRun> {
  const { agent, first, options = {}, resumes } = asked
  const { thread } = options.memory ?? {}
  const said = defined({
    agentName: asName(agent.name) ?? asName(agent.id),
    conversationId: asName(isRecord(thread) ? thread.id : thread),
    input: resumes ? undefined : inputOf(first),
    signal: options.abortSignal instanceof AbortSignal ? options.abortSignal : undefined,
  })
  const parked = resumes ? await takeWaiting(options) : undefined
  const given = parked === undefined ? undefined : takeRunInit()
  const start = () => new MastraRun(host, said)
  return parked === undefined ? start() : runWith({ resume: parked, ...given }, start)
}

/** A single message of text is told as its text. */
function inputOf(messages: unknown): unknown {
  const [only, ...others] = Array.isArray(messages) ? messages : [messages]
  return others.length === 0 ? (textOf(only) ?? messages) : messages
}

function textOf(message: unknown): string | undefined {
  if (typeof message === 'string') return message
  if (!isRecord(message) || message.role !== 'user') return undefined
  const { content } = message
  if (!isRecord(content)) return typeof content === 'string' ? content : undefined
  const [part, ...others] = Array.isArray(content.parts) ? content.parts : []
  return others.length === 0 && isRecord(part) && typeof part.text === 'string' ? part.text : undefined
}

/** What the gates made of the input, in the SDK's words. */
function messagesOf(first: unknown, input: unknown): unknown {
  if (typeof input !== 'string' || typeof first === 'string') return input
  return [{ role: 'user', content: input }]
}

/** How many runs may wait in this process for an answer that says no more than the SDK's own id of the run. */
const MAX_WAITING = 1_000

const waiting = new Map<string, ParkedOperation>()
/** Those that are not over yet: a human may answer as soon as the stream says that one is asked. */
const underWay = new Map<string, MastraRun>()

function remember(result: MastraResult, started: MastraRun): void {
  const { run } = started
  const { parked } = run
  rememberRun(result, parked)
  const { runId } = result
  if (runId === undefined || run.isPart) return
  underWay.set(runId, started)
  const settle = (to: ParkedOperation | undefined) => {
    if (underWay.get(runId) === started) underWay.delete(runId)
    if (to === undefined) return
    const oldest = waiting.size >= MAX_WAITING ? waiting.keys().next().value : undefined
    if (oldest !== undefined) waiting.delete(oldest)
    waiting.set(runId, to)
  }
  parked.then(settle, () => settle(undefined))
}

/** How long one that goes on waits for its first part to be parked, which may itself wait for whoever reads it. */
const PARKS_WITHIN_MS = 1_000

/** Each goes on once. */
async function takeWaiting({ runId, abortSignal }: MastraOptions): Promise<ParkedOperation | undefined> {
  if (runId === undefined) return undefined
  const before = underWay.get(runId)
  if (before !== undefined) {
    // Mastra waits for them, too.
    const signal = abortSignal instanceof AbortSignal ? abortSignal : undefined
    await untilAborted(before.idle(), signal).catch(() => {})
    await within(PARKS_WITHIN_MS, before.run.parked)
  }
  const parked = waiting.get(runId)
  waiting.delete(runId)
  return parked
}
