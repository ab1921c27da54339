import { ToolResult } from '../dispatcher/index.ts'
import { type Gate, type GateContext, skip } from '../gates/index.ts'
import { a, type Fields, required } from '../internal/expect.ts'
import { GLOBS } from '../internal/glob.ts'
import { digestOf } from '../internal/json.ts'
import { common, READY, type ReadyGateOptions } from './options.ts'

export interface ToolCacheOptions extends ReadyGateOptions {
  /** Globs over the tools whose results may be given again: those that only read. Required. */
  match: string | readonly string[]
  /** Milliseconds a result is given again. @default 300_000 */
  ttlMs?: number
  /** Results that are held at most; the oldest goes. @default 1_000 */
  maxEntries?: number
  /**
   * `run`: within one run and its sub-agents. `process`: across runs, apart by user and conversation; a run of which neither is known
   * has its own.
   *
   * @default 'run'
   */
  scope?: 'run' | 'process'
}

export const TOOL_CACHE: Fields<ToolCacheOptions> = {
  ...READY,
  match: required(GLOBS),
  ttlMs: a.number(1),
  maxEntries: a.number(1),
  scope: a.oneOf('run', 'process'),
}

interface Entry {
  readonly result: unknown
  /** What the model is told, where that is not the result itself. */
  readonly content: string | undefined
  readonly keptAt: number
}

type Store = Map<string, Entry>

/**
 * Answers a tool call out of an earlier one with the same arguments. Results that report a failure are not kept.
 *
 * @throws HookspanError `INVALID_OPTION`.
 */
export function toolCache(options: ToolCacheOptions): Gate {
  const gate = common(options, TOOL_CACHE, 'tool-cache')
  const { match, ttlMs = 300_000, maxEntries = 1_000, scope = 'run' } = options
  // Not in `ctx.state`: results may be large, and are not parked with the run.
  const perRun = new WeakMap<Map<string, unknown>, Store>()
  const shared: Store = new Map()
  const storeOf = ({ state, userId, conversationId }: GateContext): Store => {
    // Whose results they are nobody can say otherwise, and they may be given to somebody else.
    if (scope === 'process' && (userId || conversationId)) return shared
    const store = perRun.get(state) ?? new Map()
    perRun.set(state, store)
    return store
  }
  return {
    ...gate,
    match,
    point: ['beforeToolCall', 'afterToolCall'],
    decide(ctx) {
      const store = storeOf(ctx)
      const before = ctx.point === 'beforeToolCall'
      const key = keyOf(ctx, before ? ctx.payload : ctx.args)
      const now = Date.now()
      const found = store.get(key)
      // A clock that was set back does not make a result younger.
      const isFresh = found !== undefined && now >= found.keptAt && now < found.keptAt + ttlMs
      if (before) return isFresh ? skip(again(found)) : undefined
      if (ctx.success === false || isFresh) return undefined
      store.delete(key)
      store.set(key, { result: ctx.payload, content: ctx.content, keptAt: now })
      const oldest = store.keys().next()
      if (store.size > maxEntries && !oldest.done) store.delete(oldest.value)
      return undefined
    },
  }
}

function again({ result, content }: Entry): unknown {
  return content === undefined ? result : new ToolResult({ content, data: result })
}

function keyOf({ identifier, apiName, userId, conversationId, agentId }: GateContext, args: unknown): string {
  return digestOf([identifier, apiName, userId, conversationId, agentId, args])
}
