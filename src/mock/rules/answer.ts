import { ToolResult } from '../../dispatcher/index.ts'
import type { ToolMock } from '../../hooks/index.ts'
import { delay } from '../../internal/async.ts'
import { toContent } from '../../internal/json.ts'
import { snapshot } from '../../internal/snapshot.ts'
import type { MockedCall } from './mocked-call.ts'

export type MockFunction = (args: never, call: MockedCall) => unknown

/** How a rule answers. */
export type Answer =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'failure'; readonly content: string }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'function'; readonly fn: MockFunction; readonly simulated: boolean }
  | { readonly kind: 'sequence'; readonly items: readonly Answer[] }
  | { readonly kind: 'stream'; readonly chunks: readonly unknown[]; readonly end: StreamEnd }
  | { readonly kind: 'timeout'; readonly afterMs: number }
  | { readonly kind: 'hang' }
  | { readonly kind: 'live' }

export interface StreamEnd {
  /** The tool's result. @default the last partial result */
  readonly returns?: unknown
  /** The tool fails with this after its partial results. */
  readonly throws?: unknown
  /** Milliseconds between two partial results. @default 0 */
  readonly intervalMs?: number
}

/** What the answer comes to for one call. `live`: the real tool is to run. */
export type Given =
  | { readonly kind: 'mock'; readonly mock: ToolMock; readonly source: 'mock' | 'simulated' }
  | { readonly kind: 'live' }

/** Rejects with what the rule's function throws only when that is to be the tool's error: see `error` below. */
export async function give(
  answer: Answer,
  call: MockedCall,
  onProgress: ((value: unknown) => void) | undefined,
): Promise<Given> {
  switch (answer.kind) {
    case 'live':
      return { kind: 'live' }
    case 'value':
      return mocked(resultMock(snapshot(answer.value)))
    case 'failure':
      return mocked({ content: answer.content, success: false })
    case 'error':
      return mocked({ error: answer.error })
    case 'timeout':
      return mocked({ error: timeoutError(call.apiName, answer.afterMs), delayMs: answer.afterMs })
    case 'hang':
      return mocked({ error: await aborted(call.signal) })
    case 'sequence':
      return give(answer.items[call.callNumber % answer.items.length] as Answer, call, onProgress)
    case 'stream':
      return mocked(await stream(answer.chunks, answer.end, call, onProgress))
    case 'function':
      return {
        kind: 'mock',
        source: answer.simulated ? 'simulated' : 'mock',
        mock: await run(answer.fn, call, onProgress),
      }
  }
}

function mocked(mock: ToolMock): Given {
  return { kind: 'mock', mock, source: 'mock' }
}

function resultMock(value: unknown): ToolMock {
  if (value instanceof ToolResult) {
    const { content, success, data } = value
    return { content, success, data }
  }
  return { content: toContent(value), data: value }
}

/** A function that throws is a tool that throws. */
async function run(
  fn: MockFunction,
  call: MockedCall,
  onProgress: ((value: unknown) => void) | undefined,
): Promise<ToolMock> {
  try {
    const value: unknown = await fn(call.args as never, call)
    return resultMock(isGenerator(value) ? await drain(value, onProgress) : value)
  } catch (error) {
    return { error }
  }
}

function isGenerator(
  value: unknown,
): value is AsyncGenerator<unknown, unknown> | Generator<unknown, unknown> {
  return /^\[object (Async)?Generator\]$/.test(Object.prototype.toString.call(value))
}

async function drain(
  generator: AsyncGenerator<unknown, unknown> | Generator<unknown, unknown>,
  onProgress: ((value: unknown) => void) | undefined,
): Promise<unknown> {
  let last: unknown
  for (;;) {
    const { done, value } = await generator.next()
    if (done) return value === undefined ? last : value
    last = value
    onProgress?.(value)
  }
}

async function stream(
  chunks: readonly unknown[],
  end: StreamEnd,
  call: MockedCall,
  onProgress: ((value: unknown) => void) | undefined,
): Promise<ToolMock> {
  for (const [index, chunk] of chunks.entries()) {
    if (index > 0 && end.intervalMs) await delay(end.intervalMs, call.signal)
    onProgress?.(snapshot(chunk))
  }
  if (end.throws !== undefined) return { error: end.throws }
  return resultMock(snapshot('returns' in end ? end.returns : chunks.at(-1)))
}

function timeoutError(apiName: string, afterMs: number): DOMException {
  return new DOMException(`Tool "${apiName}" timed out after ${afterMs} ms (mocked).`, 'TimeoutError')
}

function aborted(signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve(signal.reason)
    signal?.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
}
