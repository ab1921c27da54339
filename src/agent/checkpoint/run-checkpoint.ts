import { coreOf } from '../../dispatcher/calls/call-maker.ts'
import { CallRefused, refusalBy } from '../../dispatcher/calls/suspended.ts'
import { idempotencyKeyOf } from '../../dispatcher/calls/tool-call-init.ts'
import type { Operation, ParkedOperation, WaitingCall } from '../../dispatcher/index.ts'
import { HOLDS_BUT_AGENTS, Inside } from '../../dispatcher/run/inside.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { ModelToolCall, SavedRun } from '../run-state.ts'
import { wayTo } from './record.ts'

/** Who writes down a run with those of its sub-agents. */
export interface RunKeeper {
  readonly asksHumans: boolean
  join(way: string, run: RunCheckpoint): void
  leave(keys: readonly string[]): void
  save(): Promise<void>
  assertSaved(): void
}

/** Who knows how a run is. */
interface RunSource {
  readonly op: Operation
  readonly save: (operation: ParkedOperation) => SavedRun
}

/** Where one run, or that of a sub-agent in it, is written down. */
export class RunCheckpoint {
  readonly #keeper: RunKeeper
  readonly #keys: readonly string[]
  #source: RunSource | undefined
  #parked: ParkedOperation | undefined
  /** Calls whose result, or a human's no, the loop does not have yet, as they were last saved: by their idempotency key. */
  readonly #untold = new Map<string, WaitingCall>()
  /** Runs of sub-agents whose result it does not have yet. */
  readonly #children = new Set<string>()

  constructor(keeper: RunKeeper, keys: readonly string[]) {
    this.#keeper = keeper
    this.#keys = keys
  }

  get asksHumans(): boolean {
    return this.#keeper.asksHumans
  }

  /** From now on what is saved includes this run. */
  follow(op: Operation, save: (operation: ParkedOperation) => SavedRun, resumed?: SavedRun): void {
    this.#source = { op, save }
    const core = coreOf(op)
    Inside.keep(core, () => this.save(), HOLDS_BUT_AGENTS)
    core.keepAtWork = () => this.save()
    for (const key of Object.keys(resumed?.children ?? {})) this.#children.add(key)
    for (const call of resumed?.operation.waiting ?? []) {
      if (call.unknown && call.within === undefined)
        this.#untold.set(idempotencyKeyOf(op.operationId, call.callKey), call)
    }
    this.#keeper.join(wayTo(this.#keys), this)
  }

  /** The run of a sub-agent; `key` is the key of its call. */
  child(key: string): RunCheckpoint {
    this.#children.add(key)
    return new RunCheckpoint(this.#keeper, [...this.#keys, key])
  }

  expects(key: string | undefined): boolean {
    return key !== undefined && this.#children.has(key)
  }

  save(): Promise<void> {
    return this.#keeper.save()
  }

  assertSaved(): void {
    this.#keeper.assertSaved()
  }

  /**
   * Before a tool is run: that it is at work is kept first.
   *
   * @throws HookspanError `CHECKPOINT_FAILED`; what ended the run meanwhile. Then the tool must not be run.
   */
  async begin(): Promise<void> {
    await this.#keeper.save()
    const { op } = this.#source as RunSource
    op.signal?.throwIfAborted()
    if (op.ended) throw new HookspanError('OPERATION_ENDED', `Operation "${op.operationId}" has ended.`)
    if (op.stopRequested !== undefined) throw new CallRefused(refusalBy(op.stopRequested))
  }

  /**
   * The loop has the result of the call: from now on that is saved. `idempotencyKey` is absent where its tool was never begun.
   */
  told(idempotencyKey: string | undefined): void {
    if (idempotencyKey === undefined) return
    this.#untold.delete(idempotencyKey)
    if (this.#children.delete(idempotencyKey)) this.#keeper.leave([...this.#keys, idempotencyKey])
  }

  /** Of a call that another process had begun. */
  keyOf({ id, name }: ModelToolCall): string | undefined {
    const calls = [...this.#untold].filter(([, call]) => call.toolCallId === id && call.apiName === name)
    // Of two that share an id, the one whose tool is not at work.
    return (calls.find(([, { unknown }]) => !unknown) ?? calls[0])?.[0]
  }

  /** Another process goes on with the run, from what was saved last. */
  leave(): void {
    this.#source?.op.leave()
  }

  /** The run goes on elsewhere, from here. */
  park(operation: ParkedOperation): void {
    this.#parked = operation
  }

  /** As it is now. Undefined where it has ended: what was written last stays until its caller has the result. */
  saved(): SavedRun | undefined {
    const { op, save } = this.#source as RunSource
    const operation = this.#parked ?? checkpointOf(op)
    if (operation === undefined) return undefined
    return save({ ...operation, waiting: this.#calls(op.operationId, operation.waiting ?? []) })
  }

  /**
   * With those that have ended a moment ago, and whose result the loop does not have: without it they would look as if never
   * made, their tool would be run again, or a human asked again who has said no.
   */
  #calls(operationId: string, open: readonly WaitingCall[]): WaitingCall[] {
    const calls = new Map(open.map((call) => [idempotencyKeyOf(operationId, call.callKey), call]))
    for (const [key, call] of calls) if (isOfLoop(call)) this.#untold.set(key, call)
    for (const [key, call] of this.#untold) calls.set(key, call)
    return [...calls.values()]
  }
}

/** The loop is told what comes of it, and not the tool of another call. */
function isOfLoop({ kind, within }: WaitingCall): boolean {
  return kind === undefined && within === undefined
}

function checkpointOf(op: Operation): ParkedOperation | undefined {
  try {
    return op.checkpoint()
  } catch (error) {
    if (error instanceof HookspanError && error.code === 'OPERATION_ENDED') return undefined
    throw error
  }
}
