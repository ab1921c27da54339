import { assertVersion, invalidCheckpoint } from '../../agent/checkpoint/record.ts'
import {
  erroredOutcome,
  isMockedFailure,
  refusedOutcome,
  resultOutcome,
  tellsFailure,
} from '../../dispatcher/calls/tool-outcome.ts'
import type { ParkedOperation, ToolOutcome } from '../../dispatcher/index.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { errorOf, type Failure, failureOf, fromKept, toKept } from './kept-json.ts'

/** What an engine keeps of a loop at a time. Plain JSON. */
export interface LoopRecord {
  /** What calls came to, by the key of each. */
  readonly entries: Readonly<Record<string, KeptEntry>>
  /** How the run stands after them. */
  readonly saved: ParkedOperation
  /** The turn whose step is open in it. */
  readonly turn?: number
}

export interface KeptEntry {
  /** Of the model or the tool. */
  readonly name: string
  readonly value?: unknown
  /** The pieces of a stream. */
  readonly pieces?: readonly unknown[]
  readonly failure?: Failure
  readonly outcome?: KeptOutcome
  /** The key of the call whose tool begins here, where the loop itself makes it: it has to come by it again. */
  readonly begins?: string
  /** Of the run, where it begins. */
  readonly hookIds?: readonly string[]
}

/** A tool call's outcome. */
export interface KeptOutcome {
  readonly state: Exclude<ToolOutcome['state'], 'waiting'>
  readonly content: string
  readonly result?: unknown
  readonly failure?: Failure
  /** A mock said that the tool fails. */
  readonly mocked?: true
  /** The result says that the tool failed. */
  readonly fails?: true
  readonly code?: string
  readonly reason?: string
  readonly stop?: true
}

export function keptOutcome(outcome: Exclude<ToolOutcome, { state: 'waiting' }>): KeptOutcome {
  const { state } = outcome
  const { content } = outcome.toToolMessage()
  if ('result' in outcome) {
    const result = toKept(outcome.result)
    return { state, content, ...defined({ result }), ...(tellsFailure(outcome) && { fails: true }) }
  }
  if (outcome.state === 'errored') {
    return {
      state,
      content,
      failure: failureOf(outcome.error),
      ...(isMockedFailure(outcome) && { mocked: true }),
    }
  }
  const { code, reason, stop } = outcome
  return { state, content, code, reason, ...(stop && { stop }) }
}

export function outcomeFrom(kept: KeptOutcome, toolCallId: string): ToolOutcome {
  const { state, content, result, failure, mocked, fails, code = '', reason = '', stop = false } = kept
  if (state === 'errored') {
    return erroredOutcome(failure === undefined ? new Error(content) : errorOf(failure), toolCallId, mocked)
  }
  if (state === 'denied' || state === 'rejected') {
    const kind = state === 'denied' ? 'deny' : 'reject'
    return refusedOutcome({ kind, code, reason, stop }, toolCallId)
  }
  return resultOutcome(state, fromKept(result), toolCallId, content, fails)
}

const SAVED_VERSION: ParkedOperation['version'] = 1

/** What a run goes on from. @throws HookspanError `INVALID_STATE` for what no loop of this hookspan wrote, and what is not whole. */
export function readRecords(kept: readonly unknown[]): readonly LoopRecord[] {
  for (const [index, record] of kept.entries()) {
    const where = `record ${index + 1} of ${kept.length}`
    if (typeof record === 'string') {
      throw invalidCheckpoint(
        `${where} is of an agent that execAgent runs, and \`agent\` is a function now. Bring the code back that began the run`,
      )
    }
    if (!isRecord(record) || !isRecord(record.entries) || !isRecord(record.saved))
      throw invalidCheckpoint(`${where} is not whole: ${describeValue(record)}`)
    assertVersion(where, record.saved.version, SAVED_VERSION)
  }
  return kept as readonly LoopRecord[]
}

/** @throws HookspanError `INVALID_STATE` for another call than the one that was kept. */
export function assertSame(key: string, entry: KeptEntry, name: string): void {
  if (entry.name !== name)
    throw otherCode(`at "${key}" it had called "${entry.name}", and now it calls "${name}"`)
}

export function otherCode(what: string): HookspanError {
  return new HookspanError(
    'INVALID_STATE',
    `The run goes on with other code than it was begun with: ${what}. A durable loop has to come by the same calls each ` +
      'time. Bring the code back that began the run, or cancel it.',
  )
}
