import type { TokenUsage } from '../hooks/index.ts'
import { a, assertFields, type Fields } from '../internal/expect.ts'
import type { Counters, HookFailure } from './events/report.ts'

/** What one model call cost, in US dollars; undefined when the price is not known. */
export type PriceOf = (call: {
  provider: string
  model: string
  usage: TokenUsage
  /** `0` where the reply says that the call cost nothing, which holds where this gives undefined. */
  reportedCostUsd?: number
}) => number | undefined

export interface HookDispatcherOptions {
  /**
   * Told of every handler that threw, timed out or lost events, and of every instrument that threw.
   * Default: one `console.warn` per hook id.
   */
  onHookError?: (failure: HookFailure) => void
  /**
   * Milliseconds without any event, in the operation and its descendants, after which the operation is taken as
   * abandoned by its owner and ends. Minimum 1; `Infinity` switches it off. Raise it above your longest tool call.
   *
   * @default 3_600_000
   */
  idleTimeoutMs?: number
  /**
   * Milliseconds a tool call waits for an asynchronous `beforeToolCall` handler that has no `timeoutMs` of its own.
   *
   * @default 1_000
   */
  mockTimeoutMs?: number
  /** Prices a model call whose reply says no cost, or that it cost nothing. */
  priceOf?: PriceOf
  /**
   * `chain`: mutations of one gate pass to the next. `firstDecision`: the first answer that is not `proceed` ends
   * the chain, as in Dapr Agents.
   *
   * @default 'chain'
   */
  composition?: 'chain' | 'firstDecision'
}

export interface DispatcherStats extends Readonly<Counters> {
  /** Operations the dispatcher holds something of. */
  readonly operations: number
  readonly hooks: number
  readonly plugins: number
  /** Events that wait for a handler or are being handled. */
  readonly pending: number
  /** Operations that were ended because nothing happened in them any more. */
  readonly abandoned: number
}

export interface ResolvedOptions extends HookDispatcherOptions {
  readonly idleTimeoutMs: number
  readonly mockTimeoutMs: number
  readonly composition: 'chain' | 'firstDecision'
}

const FIELDS: Fields<HookDispatcherOptions> = {
  onHookError: a.function,
  idleTimeoutMs: a.milliseconds,
  mockTimeoutMs: a.milliseconds,
  priceOf: a.function,
  composition: a.oneOf('chain', 'firstDecision'),
}

/** @throws HookspanError `INVALID_OPTION`. */
export function readOptions(options: HookDispatcherOptions): ResolvedOptions {
  assertFields<HookDispatcherOptions>(options, FIELDS, 'the dispatcher')
  const { idleTimeoutMs = 3_600_000, mockTimeoutMs = 1_000, composition = 'chain' } = options
  return { ...options, idleTimeoutMs, mockTimeoutMs, composition }
}
