import { decisionOf } from '../gates/decision.ts'
import { NO_TOTALS } from '../gates/gate.ts'
import type { Decision, GateContext, GatePoint } from '../gates/index.ts'
import { GateFailure } from '../gates/index.ts'
import { errorMessage } from '../internal/errors.ts'
import { parseHostileJson } from '../internal/hostile-json.ts'
import { wholeJson } from '../internal/json.ts'
import type { Dialect } from './protocols/dialect.ts'

/** What a command reads on its standard input, and what an endpoint is posted. */
export interface GateInvocation extends Omit<GateContext, 'state' | 'signal'> {
  readonly schemaVersion: string
  readonly gateId: string
  /** True when nothing is decided and the gate is only to prove that it answers. */
  readonly probe?: true
}

/** @throws GateFailure for what JSON cannot carry, and for more than `maxBytes`. */
export function invocationOf(dialect: Dialect, gateId: string, ctx: GateContext, maxBytes: number): string {
  const text = questionText(dialect.question(ctx, gateId))
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) {
    throw new GateFailure('gate_error', `what it is to decide on has ${bytes} bytes, more than ${maxBytes}`)
  }
  return text
}

/** Whoever decides sees all of it: what does not show in JSON would pass undecided. @throws GateFailure */
function questionText(question: object): string {
  try {
    return wholeJson(question)
  } catch (error) {
    throw new GateFailure(
      'gate_error',
      `what it is to decide on cannot be told as JSON: ${errorMessage(error)}`,
    )
  }
}

/** @throws GateFailure `gate_invalid`. */
export function readDecision(dialect: Dialect, said: Uint8Array, point: GatePoint, from: string): Decision {
  let value: Decision
  try {
    value = dialect.decision(parseHostileJson(said))
  } catch (error) {
    throw new GateFailure('gate_invalid', `${from}: ${errorMessage(error)}`)
  }
  const read = decisionOf(value, point)
  if ('problem' in read) throw new GateFailure('gate_invalid', `${from}: ${read.problem}`)
  return read.decision
}

/** A question that is about nothing, to see whether a gate answers. */
export function probe(point: GatePoint, signal: AbortSignal): GateContext & { probe: true } {
  const payload = point === 'beforeCallAgent' ? 'probe' : {}
  return {
    point,
    operationId: 'probe',
    rootOperationId: 'probe',
    identifier: 'hookspan',
    source: 'local',
    apiName: 'probe',
    payload,
    probe: true,
    totals: NO_TOTALS,
    state: new Map(),
    signal,
  }
}
