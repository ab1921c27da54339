import { DECISION_SCHEMA_VERSION, type Decision, GATE_POINTS, type GatePoint } from '../../gates/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { Dialect } from './dialect.ts'
import { meerkat } from './meerkat.ts'
import { pulsebot } from './pulsebot.ts'

/**
 * How a gate that runs elsewhere is asked and answers. `hookspan`: the published schemas. The others are for commands
 * and endpoints that were written for PulseBot or Meerkat, and are asked as those systems ask.
 */
export type GateProtocol = 'hookspan' | 'pulsebot' | 'meerkat'

const own: Dialect = {
  points: GATE_POINTS,
  maxStatus: 200,
  question({ state: _state, signal: _signal, ...asked }, gateId) {
    return { schemaVersion: DECISION_SCHEMA_VERSION, gateId, ...asked }
  },
  decision: (answer) => answer as Decision,
}

const DIALECTS: Readonly<Record<GateProtocol, Dialect>> = { hookspan: own, pulsebot, meerkat }

export const GATE_PROTOCOLS = Object.keys(DIALECTS) as readonly GateProtocol[]

/** @throws HookspanError `INVALID_OPTION` for a point that the protocol does not know. */
export function dialectOf(
  protocol: GateProtocol = 'hookspan',
  point: GatePoint | readonly GatePoint[],
  owner: string,
): Dialect {
  const dialect = DIALECTS[protocol]
  const stray = [point].flat().find((one) => !dialect.points.includes(one))
  // An unknown point is the gate's own mistake, which is told where gates are checked.
  if (stray === undefined || !GATE_POINTS.includes(stray)) return dialect
  throw new HookspanError(
    'INVALID_OPTION',
    `The protocol "${protocol}" of ${owner} cannot ask at \`${stray}\`; it knows ${dialect.points.join(', ')}.`,
  )
}
