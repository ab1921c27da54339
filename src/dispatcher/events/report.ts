import { channel } from 'node:diagnostics_channel'
import type { AnyHookType, ApprovalOutcome, GateRecord } from '../../hooks/index.ts'
import { isThenable } from '../../internal/async.ts'
import { errorSentence } from '../../internal/errors.ts'

/** What is published on `node:diagnostics_channel` `hookspan:hook` for each hook run. */
export interface HookRunMessage {
  readonly status: 'started' | 'completed' | 'failed' | 'timed_out' | 'dropped'
  readonly hookId: string
  readonly hookType: AnyHookType
  readonly operationId: string
  /** Absent for `dropped`, which stands for `count` events. */
  readonly sequence?: number
  readonly durationMs?: number
  readonly error?: unknown
  readonly count?: number
}

/** What is published on the same channel for each gate decision. */
export interface GateDecidedMessage extends GateRecord {
  readonly status: 'decided'
  readonly operationId: string
  readonly toolCallId?: string
  /** What the gate threw. */
  readonly error?: unknown
}

/** What is published on the same channel for each question to a human. */
export interface ApprovalMessage {
  readonly status: 'approval'
  readonly requestId: string
  readonly gateId: string
  readonly operationId: string
  readonly toolCallId: string
  /** `parked`: the answer will come to the run that is resumed. */
  readonly outcome: ApprovalOutcome | 'parked'
  readonly code?: string
  /** How long the human took. */
  readonly durationMs?: number
}

/** Why a hook or a plugin did not do its work. The agent is not affected by any of these. */
export interface HookFailure {
  readonly kind: 'failed' | 'timed_out' | 'dropped' | 'instrument' | 'unmatched'
  /** The hook's id; the plugin's name for `instrument`; the gate's or hook's for `unmatched`: a pattern of it that no tool has, or one that ran unasked. */
  readonly hookId: string
  readonly hookType?: AnyHookType
  readonly operationId?: string
  readonly error?: unknown
  /** Events lost in this burst, for `dropped`. */
  readonly count?: number
  /** One sentence with the mend. */
  readonly message: string
}

export interface Counters {
  dispatched: number
  delivered: number
  failed: number
  timedOut: number
  dropped: number
}

/** `HookRunMessage | GateDecidedMessage` per hook and gate run; free when nobody subscribes. */
export const HOOK_CHANNEL = 'hookspan:hook'
const hookChannel = channel(HOOK_CHANNEL)

/** How many distinct ids the default reporting remembers, so that it stays bounded. */
const MAX_WARNED_IDS = 1_000

/** Where everything that goes wrong beside the agent's path is told. */
export class Reporter {
  readonly counters: Counters = { dispatched: 0, delivered: 0, failed: 0, timedOut: 0, dropped: 0 }
  readonly #onHookError: (failure: HookFailure) => void
  readonly #warned = new Set<string>()
  readonly #unmatched = new Set<string>()

  constructor(onHookError?: (failure: HookFailure) => void) {
    this.#onHookError = onHookError ?? ((failure) => this.#warnOnce(failure))
  }

  get observed(): boolean {
    return hookChannel.hasSubscribers
  }

  publish(message: HookRunMessage | GateDecidedMessage | ApprovalMessage): void {
    if (hookChannel.hasSubscribers) hookChannel.publish(message)
  }

  /** Counts a failure and tells it. Never throws. */
  failure(failure: Omit<HookFailure, 'message'>): void {
    if (failure.kind === 'timed_out') this.counters.timedOut++
    else if (failure.kind !== 'dropped') this.counters.failed++
    this.#tell({ ...failure, message: sentence(failure) })
  }

  #tell(failure: HookFailure): void {
    const warn = (error: unknown) =>
      this.#warnOnce({
        ...failure,
        kind: 'failed',
        hookId: 'onHookError',
        message: `onHookError threw: ${errorSentence(error)}`,
      })
    try {
      const told: unknown = this.#onHookError(failure)
      if (told !== undefined && isThenable(told)) new Promise((resolve) => resolve(told)).catch(warn)
    } catch (error) {
      warn(error)
    }
  }

  /** Tells of patterns that guard nothing, once for each id and list of patterns. */
  unmatched(hookId: string, patterns: readonly string[], message: string): void {
    const key = JSON.stringify([hookId, ...patterns])
    if (this.#unmatched.has(key) || this.#unmatched.size >= MAX_WARNED_IDS) return
    this.#unmatched.add(key)
    this.#tell({ kind: 'unmatched', hookId, message })
  }

  #warnOnce(failure: HookFailure): void {
    const more = 'Further failures of it are counted in stats() and not repeated here.'
    if (failure.kind !== 'unmatched') {
      if (this.#warned.has(failure.hookId) || this.#warned.size >= MAX_WARNED_IDS) return
      this.#warned.add(failure.hookId)
    }
    try {
      console.warn(`[hookspan] ${failure.message}${failure.kind === 'unmatched' ? '' : ` ${more}`}`)
    } catch {
      // A console that throws must not reach the agent.
    }
  }
}

function sentence({ kind, hookId, hookType, error, count }: Omit<HookFailure, 'message'>): string {
  const hook = hookType === undefined ? `"${hookId}"` : `Hook "${hookId}" (${hookType})`
  switch (kind) {
    case 'timed_out':
      return `${hook} did not settle within its \`timeoutMs\`; its next event is delivered now.`
    case 'dropped':
      return `${hook} is too slow: ${count} events were dropped. Make it faster or raise \`maxPending\`.`
    case 'instrument':
      return `Plugin ${hook} threw while tracing: ${errorSentence(error)}`
    default:
      return `${hook} threw: ${errorSentence(error)}`
  }
}
