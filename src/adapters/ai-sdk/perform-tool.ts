import type { ToolCallDecision, ToolOutcome } from '../../dispatcher/index.ts'
import { isStream } from '../../wire/watch-stream.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import type { SdkTool, ToolOptions } from './sdk.ts'

interface Decided {
  readonly call: SafeToolCall<unknown, unknown>
  readonly decision: ToolCallDecision<unknown, unknown>
}

/**
 * Runs the tool in its call's span and place, unless the call has an outcome already.
 *
 * @returns what the SDK is to get from the tool: a promise, or where the tool gives several results, all of them.
 */
export function performTool({ call, decision }: Decided, tool: SdkTool, options: ToolOptions): unknown {
  if (decision.state !== 'run') return Promise.resolve().then(() => given(decision))
  const { args } = decision
  let value: unknown
  try {
    if (tool.execute === undefined) throw new Error('This tool is run by the client.')
    value = call.enter(() => tool.execute?.(args, options))
  } catch (error) {
    value = Promise.reject(error)
  }
  if (isStream(value)) return relay(call, value)
  // Told to the call, which may have ended before: with its run, or its signal.
  Promise.resolve(value)
    .then(
      (result) => call.settle(result),
      (error: unknown) => call.fail(error),
    )
    .catch(() => {})
  return call.outcome.then(given)
}

/** What the SDK is told of a call. @throws what the tool threw, or why the call was refused. */
function given(outcome: ToolOutcome): unknown {
  if ('result' in outcome) return outcome.result
  if (outcome.state === 'errored') throw outcome.error
  throw new Error(outcome.toToolMessage().content)
}

/** A tool that gives results on its way: each is passed on, and the last one counts. */
async function* relay(
  call: SafeToolCall<unknown, unknown>,
  results: AsyncIterable<unknown>,
): AsyncGenerator<unknown> {
  let last: unknown
  let over = false
  const iterator = call.enter(() => results[Symbol.asyncIterator]())
  try {
    for (;;) {
      const { done, value } = await call.enter(() => iterator.next())
      if (done) break
      last = value
      yield value
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
  const result = given(outcome)
  if (result !== last) yield result
}
