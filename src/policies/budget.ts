import { deny, type Gate, type GateContext, type TreeTotals } from '../gates/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, expected, type Fields } from '../internal/expect.ts'
import { safeStringify } from '../internal/json.ts'
import { common, memory, READY, type ReadyGateOptions } from './options.ts'

export interface BudgetOptions extends ReadyGateOptions {
  /**
   * US dollars. A model call whose price is not known counts as too dear, unless `unknownPrice` says else: give the
   * dispatcher a `priceOf`.
   */
  maxCostUsd?: number
  /** Input and output tokens together. A model call that says no usage counts as too many, unless `unknownUsage` says else. */
  maxTokens?: number
  maxToolCalls?: number
  maxSteps?: number
  /** Milliseconds from the start of the root operation; time spent parked is not counted. */
  maxDurationMs?: number
  /**
   * `tools`: looks at the limits before tools alone, where an SDK's model calls are out of reach (Claude's agent, Copilot). The reply
   * that passes a limit is still made, and one after it that calls no tool.
   *
   * @default 'all'
   */
  before?: 'all' | 'tools'
  /** What a model call of unknown price means under `maxCostUsd`. @default 'deny' */
  unknownPrice?: 'deny' | 'proceed'
  /** What a model call that says no usage means under `maxTokens`. @default 'deny' */
  unknownUsage?: 'deny' | 'proceed'
  /**
   * Tokens that a request will need before any comes back; what would pass `maxTokens` is not sent.
   *
   * @default a quarter of the request's characters
   */
  estimateTokens?: (request: Readonly<Record<string, unknown>>) => number
  /** Ends the run; `false` only tells the model. @default true */
  stop?: boolean
}

const LIMITS = ['maxCostUsd', 'maxTokens', 'maxToolCalls', 'maxSteps', 'maxDurationMs'] as const

export const BUDGET: Fields<BudgetOptions> = {
  ...READY,
  maxCostUsd: a.number(0),
  maxTokens: a.number(0),
  maxToolCalls: a.number(0),
  maxSteps: a.number(0),
  maxDurationMs: a.number(0),
  before: a.oneOf('all', 'tools'),
  unknownPrice: a.oneOf('deny', 'proceed'),
  unknownUsage: a.oneOf('deny', 'proceed'),
  estimateTokens: a.function,
  stop: a.boolean,
}

/**
 * Holds a whole run, its sub-agents included, to limits. They are checked before a model, a tool or an agent is called:
 * what is under way when a limit is reached still ends.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * budget({ maxCostUsd: 0.5, maxToolCalls: 40, maxDurationMs: 600_000 })
 */
export function budget(options: BudgetOptions): Gate {
  const gate = common(options, BUDGET, 'budget')
  if (LIMITS.every((name) => options[name] === undefined)) {
    const mend = `Give one of ${LIMITS.join(', ')}.`
    throw new HookspanError('INVALID_OPTION', `gate "${gate.id}" has no limit. ${mend}`)
  }
  const { stop = true } = options
  return {
    ...gate,
    // Counting tool calls alone asks for no more than an adapter must be able to: Claude's model calls are out of reach.
    point:
      spends(options) && options.before !== 'tools'
        ? ['beforeLlmCall', 'beforeToolCall', 'beforeCallAgent']
        : 'beforeToolCall',
    decide(ctx) {
      const spent = spentLimit(options, gate.id, ctx) ?? tooManyCalls(options, gate.id, ctx)
      if (spent === undefined) return undefined
      return deny(`the budget of this run is spent: ${spent}`, { code: 'budget_exceeded', stop })
    },
  }
}

/** Whether it has a limit that a model call, or another agent, may reach. */
const spends = (options: BudgetOptions) =>
  LIMITS.some((name) => name !== 'maxToolCalls' && options[name] !== undefined)

function spentLimit(options: BudgetOptions, id: string, ctx: GateContext): string | undefined {
  const { totals } = ctx
  const { maxCostUsd, maxTokens, maxSteps, maxDurationMs } = options
  const { unknownPrice = 'deny', unknownUsage = 'deny' } = options
  if (maxCostUsd !== undefined) {
    if (totals.costUsd >= maxCostUsd) return `$${totals.costUsd.toFixed(4)} of $${maxCostUsd}`
    if (totals.unpricedCalls > 0 && unknownPrice === 'deny') {
      const of = totals.unpricedModel === undefined ? '' : ` (model "${totals.unpricedModel}")`
      return `the price of ${totals.unpricedCalls} model call(s)${of} is not known, so that $${maxCostUsd} cannot be held`
    }
  }
  if (maxTokens !== undefined) {
    const tokens = tokensOf(totals)
    if (tokens >= maxTokens) return `${tokens} of ${maxTokens} tokens`
    if (totals.unmeasuredCalls > 0 && unknownUsage === 'deny') {
      return `${totals.unmeasuredCalls} model call(s) did not say how many tokens they used, so that ${maxTokens} cannot be held`
    }
    if (ctx.point === 'beforeLlmCall') {
      const request = ctx.payload as Record<string, unknown>
      const next: unknown = (options.estimateTokens ?? estimateTokens)(request)
      if (!a.number(0).fits(next)) {
        throw expected(`\`estimateTokens\` of gate "${id}" to give a number >= 0`, next)
      }
      if (tokens + (next as number) > maxTokens)
        return `${tokens} tokens and about ${next} more pass ${maxTokens}`
    }
  }
  if (maxSteps !== undefined && totals.steps > maxSteps) return `${maxSteps} step(s)`
  if (maxDurationMs !== undefined && totals.durationMs >= maxDurationMs) return `${maxDurationMs} ms`
  return undefined
}

/**
 * Counts what it lets through: of several calls at once, the first ones go and the rest do not. Budgets of one id, as those of a
 * config file and of an agent that were given none, count together, and each holds its own limit.
 */
function tooManyCalls({ maxToolCalls }: BudgetOptions, id: string, ctx: GateContext): string | undefined {
  if (maxToolCalls === undefined || ctx.point !== 'beforeToolCall') return undefined
  const calls = memory<string[]>(ctx.state, `budget:${id}`, () => [])
  const call = `${ctx.operationId}/${ctx.callKey}`
  // Counted already where it is resumed, or where another budget of this id let it through.
  const at = calls.indexOf(call)
  const before = at < 0 ? calls.length : at
  if (before >= maxToolCalls) return `${maxToolCalls} tool call(s)`
  if (at < 0) calls.push(call)
  return undefined
}

function tokensOf({ inputTokens, outputTokens }: TreeTotals): number {
  return inputTokens + outputTokens
}

function estimateTokens(request: Readonly<Record<string, unknown>>): number {
  return Math.ceil(safeStringify(request).length / 4)
}
