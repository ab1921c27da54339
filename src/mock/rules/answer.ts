import { hasWords } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolMock } from '../../hooks/index.ts'
import { delay } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
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
  | { readonly kind: 'sequence'; readonly items: readonly Standing[] }
  | { readonly kind: 'stream'; readonly chunks: readonly unknown[]; readonly end: StreamEnd }
  | { readonly kind: 'timeout'; readonly afterMs: number }
  | { readonly kind: 'hang' }
  | { readonly kind: 'live' }

/** One that stands in for the tool. */
export type Standing = Exclude<Answer, { kind: 'live' }>

export interface StreamEnd {
  /** The tool's result. @default the last partial result */
  readonly returns?: unknown
  /** The tool fails with this after its partial results. */
  readonly throws?: unknown
  /** Milliseconds between two partial results. @default 0 */
  readonly intervalMs?: number
}

/** Who answers by it. `live`: the real tool runs. */
export function sourceOf(answer: Answer): 'mock' | 'simulated' | 'live' {
  if (answer.kind === 'live') return 'live'
  return answer.kind === 'function' && answer.simulated ? 'simulated' : 'mock'
}

/**
 * What the answer comes to for one call. Never rejects for what a rule's function throws: the tool throws that. One that
 * hangs ends with `letGo`, at the latest.
 */
export async function give(
  answer: Standing,
  call: MockedCall,
  onProgress: ((value: unknown) => void) | undefined,
  letGo: AbortSignal,
): Promise<ToolMock> {
  switch (answer.kind) {
    case 'value':
      return resultMock(snapshot(answer.value))
    case 'failure':
      return { content: answer.content, success: false }
    case 'error':
      return { error: answer.error }
    case 'timeout':
      return { error: timeoutError(call.apiName, answer.afterMs), delayMs: answer.afterMs }
    case 'hang':
      return { error: await aborted(call.signal, letGo) }
    case 'sequence':
      return give(answer.items[call.callNumber % answer.items.length] as Standing, call, onProgress, letGo)
    case 'stream':
      return stream(answer.chunks, answer.end, call, onProgress)
    case 'function':
      return run(answer.fn, call, onProgress)
  }
}

function resultMock(value: unknown): ToolMock {
  if (hasWords(value)) {
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

export function hungTooLong(): HookspanError {
  return new HookspanError(
    'MOCK_UNMATCHED',
    'The mock hung until its test was out of time. A tool that hangs is ended by the agent: give it a timeout, or a `signal`.',
  )
}

function aborted(...signals: readonly (AbortSignal | undefined)[]): Promise<unknown> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      if (signal?.aborted) resolve(signal.reason)
      signal?.addEventListener('abort', () => resolve(signal.reason), { once: true })
    }
  })
}
