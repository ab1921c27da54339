import type { Operation, ParkedOperation, WaitingCall } from '../../dispatcher/index.ts'
import type { ApprovalRequest } from '../../gates/index.ts'
import { delay } from '../../internal/async.ts'
import type { AskedRequest, Segment } from '../drive.ts'
import type { LoopSteps } from './loop-steps.ts'
import { assertSame, type KeptEntry, type LoopRecord, otherCode } from './records.ts'

/** For calls side by side, one of which comes by what is kept of it a little later. */
const PATIENCE_MS = 1_000

interface Unkept {
  readonly key: string
  readonly entry: KeptEntry
  readonly kept: PromiseWithResolvers<void>
}

type LoopSegment = Segment<LoopRecord, never>

/** What the engine has of a loop, what it is to have next, and which calls are open meanwhile. */
export class LoopJournal {
  /** How many records there are, those that it went on from included. */
  position: number
  readonly #kept = new Map<string, KeptEntry>()
  /** Calls whose tool was begun and whose outcome is not kept yet, by their key. */
  readonly #begun = new Map<string, WaitingCall>()
  /** The tools of calls that the loop itself has made, and has not come by in this process. */
  readonly #unmet = new Map<string, string>()
  #met = Promise.withResolvers<void>()
  /** Calls that are decided and not begun. */
  readonly #held = new Map<string, () => Promise<void>>()
  readonly #asked = new Map<string, AskedRequest>()
  #unkept: Unkept[] = []
  #given: Unkept[] = []

  constructor(records: readonly LoopRecord[]) {
    this.position = records.length
    for (const { entries } of records) {
      for (const [key, entry] of Object.entries(entries)) {
        this.#kept.set(key, entry)
        if (entry.begins !== undefined) this.#unmet.set(entry.begins, entry.name)
      }
    }
    for (const call of records.at(-1)?.saved.waiting ?? []) {
      if (isHeld(call)) this.#begun.set(call.callKey, call)
    }
  }

  get hasUnkept(): boolean {
    return this.#unkept.length > 0
  }

  get asksSomebody(): boolean {
    return this.#asked.size > 0
  }

  /** @throws HookspanError `INVALID_STATE` for another call than was made. */
  keptOf(key: string, name: string): KeptEntry | undefined {
    const entry = this.#kept.get(key)
    if (entry !== undefined) assertSame(key, entry, name)
    if (this.#unmet.delete(key) && this.#unmet.size === 0) this.#met.resolve()
    return entry
  }

  /** Undefined where the loop has come by all that it had begun. Else until it has, or has had the time to. */
  metAll(name: string): Promise<void> | undefined {
    return this.#unmet.size === 0 ? undefined : this.#assertMet(name)
  }

  async #assertMet(name: string): Promise<void> {
    await Promise.race([this.#met.promise, delay(PATIENCE_MS)])
    const [[key, tool] = []] = this.#unmet
    if (key !== undefined)
      throw otherCode(
        `it had begun "${tool}" (${key}), which it does not come by now, before it calls "${name}"`,
      )
  }

  /** Resolves once the engine has it. */
  add(key: string, entry: KeptEntry): Promise<void> {
    const unkept = { key, entry, kept: Promise.withResolvers<void>() }
    this.#unkept.push(unkept)
    return unkept.kept.promise
  }

  hold(callKey: string, suspend: () => Promise<void>): void {
    this.#held.set(callKey, suspend)
  }

  begins(callKey: string): void {
    this.#held.delete(callKey)
  }

  told(callKey: string): void {
    this.#held.delete(callKey)
    this.#begun.delete(callKey)
  }

  asks({ id, expiresAt }: ApprovalRequest): void {
    this.#asked.set(id, { id, ...(expiresAt !== undefined && { expiresAt }) })
  }

  /** The engine has what it was given last. */
  hasGiven(): void {
    for (const { kept } of this.#given.splice(0)) kept.resolve()
  }

  /** The engine keeps nothing any more: nobody is to wait for it. */
  close(): void {
    this.hasGiven()
    for (const { kept } of this.#unkept.splice(0)) kept.resolve()
  }

  /** What is to be kept now. */
  part(op: Operation, { turn }: LoopSteps): LoopSegment {
    this.#given = this.#unkept.splice(0)
    const entries = Object.fromEntries(this.#given.map(({ key, entry }) => [key, entry]))
    this.position++
    return { kept: [recordOf(entries, this.#saved(op), turn)], at: Date.now() }
  }

  /** Leaves the run to whoever goes on with it once somebody has answered. */
  async park(op: Operation, steps: LoopSteps): Promise<{ record: LoopRecord; segment: LoopSegment }> {
    const { turn } = steps
    for (const suspend of this.#held.values()) await suspend()
    await steps.suspend()
    const record = recordOf({}, op.park({ waitingFor: 'human' }), turn)
    return { record, segment: { kept: [record], at: Date.now(), asked: [...this.#asked.values()] } }
  }

  /** A call whose tool has returned a moment ago, and whose outcome is not kept, is open still: else it looks as if never made. */
  #saved(op: Operation): ParkedOperation {
    const saved = op.checkpoint()
    const open = new Map(this.#begun)
    for (const call of saved.waiting ?? []) {
      const { unknown, ...decided } = call
      const isDecided = this.#held.has(call.callKey)
      open.set(call.callKey, isDecided ? decided : call)
      if (isHeld(call) && !isDecided) this.#begun.set(call.callKey, call)
    }
    return { ...saved, waiting: [...open.values()] }
  }
}

/** Its tool was begun by the loop: what comes of it is kept. */
function isHeld({ unknown, within }: WaitingCall): boolean {
  return unknown === true && within === undefined
}

function recordOf(
  entries: LoopRecord['entries'],
  saved: ParkedOperation,
  turn: number | undefined,
): LoopRecord {
  return { entries, saved, ...(turn !== undefined && { turn }) }
}
