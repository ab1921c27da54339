import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, expected, type Fields } from '../../internal/expect.ts'
import { warnOfVersion } from '../peer-range.ts'
import { observedQuery } from './query.ts'
import type { QueryFunction } from './sdk.ts'

export interface ObserveClaudeAgentOptions {
  dispatcher: HookDispatcher
  /** Names runs whose `agent` option says none. @default 'claude' */
  agentName?: string
  /**
   * What becomes of the spans that Claude Code makes itself where its telemetry is on: `omit` leaves them out, as each call is
   * a span of ours already; `nest` turns them on, in the same trace, below the run.
   *
   * @default 'omit'
   */
  sdkSpans?: 'omit' | 'nest'
}

const FIELDS: Fields<ObserveClaudeAgentOptions> = {
  dispatcher: a.value,
  agentName: a.string,
  sdkSpans: a.oneOf('omit', 'nest'),
}

const observed = new WeakMap<object, HookDispatcher>()

/**
 * Gives the `query` of `@anthropic-ai/claude-agent-sdk`, each of whose runs lives the lifecycle: turns, model calls, tools
 * (Claude Code's own, too), permissions, the agents that it calls. The SDK itself stays as it was: to undo it, do not use what
 * this gives. Twice observed is once observed.
 *
 * @throws HookspanError `INVALID_OPTION` for what is no function, or is observed by another dispatcher already.
 * @example
 * const query = observeClaudeAgent(sdk.query, { dispatcher })
 * for await (const message of query({ prompt: 'Tidy up.' })) console.log(message.type)
 */
export function observeClaudeAgent<F extends (...args: never[]) => unknown>(
  query: F,
  options: ObserveClaudeAgentOptions,
): F {
  assertAdapterOptions(options, FIELDS, 'observeClaudeAgent')
  if (typeof query !== 'function') {
    throw expected('the first argument of observeClaudeAgent to be `query` of the SDK', query)
  }
  const { dispatcher, agentName = 'claude', sdkSpans = 'omit' } = options
  const before = observed.get(query)
  if (before === dispatcher) return query
  if (before !== undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      'This query is observed by another dispatcher. Give observeClaudeAgent the one of the SDK.',
    )
  }
  warnOfVersion('@anthropic-ai/claude-agent-sdk')
  const result: QueryFunction = (params) =>
    observedQuery(query as unknown as QueryFunction, params ?? {}, { dispatcher, agentName, sdkSpans })
  observed.set(result, dispatcher)
  return result as unknown as F
}
