import { isRefusal } from '../../gates/chain.ts'
import { errorMessage, errorType, HookspanError } from '../../internal/errors.ts'
import { runWithin } from '../run/current.ts'
import type { CallSite, OpenCall, OperationCore } from '../run/operation-core.ts'
import { invalidCall } from '../run/operation-init.ts'

export interface CompactInit {
  /** Messages before. */
  messageCount: number
  /** Tokens before. */
  tokenCount: number
}

/** What the compaction reports; a runtime may return more and gets it back whole. */
export interface CompactResult {
  messagesAfter?: number
  tokensAfter?: number
  summary?: string
  groupId?: string
}

/**
 * One compaction of the conversation. Gives what `fn` gives and throws what it throws.
 *
 * @throws HookspanError `INVALID_CALL` when the call itself is malformed, `CALL_DENIED` when a gate refused it.
 */
export async function runCompact<R extends CompactResult>(
  core: OperationCore,
  site: CallSite,
  init: CompactInit,
  fn: () => R | PromiseLike<R>,
): Promise<R> {
  for (const name of ['messageCount', 'tokenCount'] as const) {
    const count: unknown = init?.[name]
    if (!Number.isFinite(count)) throw invalidCall(name, 'a compaction', 'a number', count)
  }
  if (typeof fn !== 'function') throw invalidCall('fn', 'a compaction', 'the function that compacts', fn)
  const { messageCount, tokenCount } = init
  const where = site.stepIndex === undefined ? {} : { stepIndex: site.stepIndex }
  const traced = core.open(site, { kind: 'compact', messageCount, tokenCount })
  const fail = (error: unknown): void => {
    core.emit('onCompactError', {
      ...where,
      error,
      errorType: errorType(error),
      errorMessage: errorMessage(error),
      messageCount,
      tokenCount,
    })
    traced.end({ kind: 'compact', error }, core.timestamp)
  }
  const open: OpenCall = {
    cut: (reason) => fail(new DOMException(`The run ended (${reason}) during the compaction.`, 'AbortError')),
  }
  core.track(open)
  try {
    const decided = await core.decide(
      'beforeCompact',
      { messageCount, tokenCount },
      { traced, stepIndex: site.stepIndex },
    )
    core.emit('beforeCompact', { ...where, messageCount, tokenCount })
    if (isRefusal(decided)) {
      throw new HookspanError('CALL_DENIED', `Compaction denied (${decided.code}): ${decided.reason}`, {
        cause: decided,
      })
    }
    core.assertRunning()
    const result = decided?.kind === 'skip' ? (decided.result as R) : await runWithin(core, site, traced, fn)
    const after = {
      ...(result?.groupId !== undefined && { groupId: result.groupId }),
      messagesBefore: messageCount,
      messagesAfter: result?.messagesAfter ?? messageCount,
      tokensBefore: tokenCount,
      tokensAfter: result?.tokensAfter ?? tokenCount,
      ...(result?.summary !== undefined && { summary: result.summary }),
    }
    if (core.untrack(open)) {
      core.emit('afterCompact', { ...where, ...after })
      traced.end({ kind: 'compact', ...after }, core.timestamp)
    }
    return result
  } catch (error) {
    if (core.untrack(open)) fail(error)
    throw error
  }
}
