import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { warnOfVersion } from '../peer-range.ts'
import { assertSame, isClass, wrongTarget } from '../wrong-target.ts'
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

const WANTED = 'the function `query` of @anthropic-ai/claude-agent-sdk'

const observed = new WeakMap<object, ObserveClaudeAgentOptions>()

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
  if (typeof query !== 'function' || isClass(query)) throw wrongTarget('observeClaudeAgent', WANTED, query)
  const { dispatcher, agentName = 'claude', sdkSpans = 'omit' } = options
  const before = observed.get(query)
  const asked = { dispatcher, agentName, sdkSpans }
  if (before !== undefined) {
    assertSame(before, options, 'This query is', 'Give observeClaudeAgent the one of the SDK.')
    return query
  }
  warnOfVersion('@anthropic-ai/claude-agent-sdk')
  const result: QueryFunction = (params) =>
    observedQuery(query as unknown as QueryFunction, params ?? {}, asked)
  observed.set(result, asked)
  return result as unknown as F
}
