import { tellsFailure, wordsOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolCallDecision, ToolOutcome } from '../../dispatcher/index.ts'
import { isStream } from '../../wire/watch-stream.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { asFailed, saysItFailed } from '../tool-failure.ts'
import type { SdkTool, ToolOptions } from './sdk.ts'

/** As the SDK has it. */
export interface ToldModel {
  readonly type: 'text' | 'error-text'
  readonly value: string
}

interface Decided {
  readonly call: SafeToolCall<unknown, unknown>
  readonly decision: ToolCallDecision<unknown, unknown>
  /** Told what the model is to hear in the place of this result. */
  says(told: ToldModel, result: unknown): void
}

/**
 * Runs the tool in its call's span and place, unless the call has an outcome already.
 *
 * @returns what the SDK is to get from the tool: a promise, or where the tool gives several results, all of them.
 */
export function performTool(decided: Decided, tool: SdkTool, options: ToolOptions): unknown {
  const { call, decision } = decided
  if (decision.state !== 'run') return Promise.resolve().then(() => given(decision, decided))
  // The SDK asks about all calls of a step before it runs one: what came of another may have stopped the run, or it was left.
  const { refused } = call
  if (refused !== undefined) return refused.then((outcome) => given(outcome, decided))
  const { args } = decision
  let value: unknown
  try {
    if (tool.execute === undefined) throw new Error('This tool is run by the client.')
    value = call.enter(() => tool.execute?.(args, options))
  } catch (error) {
    value = Promise.reject(error)
  }
  if (isStream(value)) return relay(decided, value)
  // Told to the call, which may have ended before: with its run, or its signal.
  Promise.resolve(value)
    .then(
      (result) => call.settle(asFailed(result)),
      (error: unknown) => call.fail(error),
    )
    .catch(() => {})
  return call.outcome.then((outcome) => given(outcome, decided))
}

/** What the SDK is to get of a tool that is not run at once: as the tool itself gives it, in one or in several results. */
export function performedLate(tool: SdkTool, late: Promise<unknown>): unknown {
  return isGenerator(tool.execute) ? relayLate(late) : late.then(lastOf)
}

function isGenerator(execute: unknown): boolean {
  return Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'
}

async function* relayLate(late: Promise<unknown>): AsyncGenerator<unknown> {
  const value = await late
  if (isStream(value)) yield* value
  else yield value
}

async function lastOf(value: unknown): Promise<unknown> {
  if (!isStream(value)) return value
  let last: unknown
  for await (const one of value) last = one
  return last
}

/** The SDK has run the tool by itself, or what takes its place has an answer: only what the model is told can be changed. */
export async function foundBySdk({ call, decision, says }: Decided, output: unknown): Promise<void> {
  const outcome = decision.state === 'run' ? await call.settle(output) : decision
  const isResult = 'result' in outcome
  if (isResult && outcome.result === output && wordsOf(outcome) === undefined) return
  const type = isResult && !tellsFailure(outcome) ? 'text' : 'error-text'
  says({ type, value: outcome.toToolMessage().content }, output)
}

/** What the SDK is told of a call. @throws what the tool threw, or why the call was refused. */
function given(outcome: ToolOutcome, { says }: Decided): unknown {
  if ('result' in outcome) {
    const { result } = outcome
    const words = wordsOf(outcome)
    if (saysItFailed(outcome)) return result
    if (tellsFailure(outcome)) says({ type: 'error-text', value: outcome.toToolMessage().content }, result)
    else if (words !== undefined) says({ type: 'text', value: words }, result)
    return result
  }
  if (outcome.state === 'errored') throw outcome.error
  throw new Error(outcome.toToolMessage().content)
}

/**
 * A tool that gives results on its way: each is passed on, and the last one counts. Where a gate decides on that one, all are kept
 * back until it has, and those that are passed on are as the tool gave them.
 */
async function* relay(decided: Decided, results: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const { call } = decided
  const held: unknown[] | undefined = call.gated ? [] : undefined
  let last: unknown
  let over = false
  const iterator = call.enter(() => results[Symbol.asyncIterator]())
  try {
    for (;;) {
      const { done, value } = await call.enter(() => iterator.next())
      if (done) break
      last = value
      if (held === undefined) yield value
      else held.push(value)
    }
    over = true
  } catch (error) {
    over = true
    await call.fail(error).catch(() => {})
    throw error
  } finally {
    if (!over) {
      call.fail(new DOMException('The tool was left before its end.', 'AbortError')).catch(() => {})
      await call.enter(() => iterator.return?.())
    }
  }
  const outcome = await call.settle(last).catch(() => call.outcome)
  const result = given(outcome, decided)
  if (result === last) yield* held ?? []
  else yield result
}
