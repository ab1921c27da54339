import { errorMessage, errorType } from '../../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import { readFields } from '../../internal/objects.ts'
import type { CompactEnd } from '../plugins/instrument.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { HeldCall } from './held-call.ts'

export interface CompactInit {
  /** Messages before. */
  messageCount: number
  /** Tokens before. */
  tokenCount: number
}

const COMPACT: Fields<CompactInit> = {
  messageCount: required(a.finite),
  tokenCount: required(a.finite),
}

/** What the compaction reports; a runtime may return more and gets it back whole. */
export interface CompactResult {
  /** Where they are known only now. @default what the compaction began with */
  tokensBefore?: number
  messagesAfter?: number
  tokensAfter?: number
  summary?: string
  groupId?: string
}

const READ = ['tokensBefore', 'messagesAfter', 'tokensAfter', 'summary', 'groupId'] as const

/** One compaction of the conversation. */
export class CompactCall<R extends CompactResult> extends HeldCall<R, object, CompactEnd> {
  readonly #callKey: string
  readonly #counts: CompactInit

  /** @throws HookspanError `INVALID_CALL` when it is malformed. */
  constructor(core: OperationCore, site: CallSite, init: CompactInit) {
    assertFields<CompactInit>(init, COMPACT, 'a compaction', 'INVALID_CALL')
    const { messageCount, tokenCount } = init
    const callKey = core.nextCallKey()
    const activity = { kind: 'compact' as const, callKey, messageCount, tokenCount }
    const spanKey = core.spanKey(`compaction ${callKey}`)
    super(core, site, spanKey === undefined ? activity : { ...activity, spanKey })
    this.#callKey = callKey
    this.#counts = { messageCount, tokenCount }
  }

  protected override get point() {
    return 'beforeCompact' as const
  }

  protected get what(): string {
    return 'Compaction'
  }

  protected get during(): string {
    return 'during the compaction'
  }

  protected override place(): DecidedPlace {
    return { ...super.place(), callKey: this.#callKey }
  }

  protected payload(): CompactInit {
    return this.#counts
  }

  protected effective(): object {
    return {}
  }

  protected announce(): void {
    this.core.emit('beforeCompact', { ...this.#told(), ...this.#counts })
  }

  protected finished(result: R): CompactEnd {
    const { messageCount, tokenCount } = this.#counts
    const read = readFields(result, READ) as CompactResult
    const after = {
      ...(read.groupId !== undefined && { groupId: read.groupId }),
      messagesBefore: messageCount,
      messagesAfter: read.messagesAfter ?? messageCount,
      tokensBefore: read.tokensBefore ?? tokenCount,
      tokensAfter: read.tokensAfter ?? tokenCount,
      ...(read.summary !== undefined && { summary: read.summary }),
    }
    this.core.emit('afterCompact', { ...this.#told(), ...this.decidedBy, ...after })
    return { kind: 'compact', ...after }
  }

  protected failed(error: unknown): CompactEnd {
    const failure = { error, errorType: errorType(error), errorMessage: errorMessage(error) }
    this.core.emit('onCompactError', { ...this.#told(), ...this.decidedBy, ...failure, ...this.#counts })
    return { kind: 'compact', error }
  }

  #told() {
    return { ...this.where, callKey: this.#callKey }
  }
}
