import { defined } from '../internal/objects.ts'
import type { Gate } from './gate.ts'

interface Registered {
  readonly copy: Gate
  /** What the gate was when the copy was made. */
  readonly was: Gate
}

/** The last copy of each gate: one that a run has of its caller and of its own is asked once. */
const registered = new WeakMap<Gate, Registered>()

/**
 * Gates as they were checked, in a list of their own: what is put into a gate later was looked at by nobody. `decide` still
 * runs on the gate itself, which may count, or be of a class.
 */
export function registeredGates(gates: readonly Gate[]): Gate[] {
  return gates.map(registeredGate)
}

function registeredGate(gate: Gate): Gate {
  const known = registered.get(gate)
  if (known !== undefined && isAsItWas(gate, known.was)) return known.copy
  const was = readGate(gate)
  const { decide, check } = was
  const copy: Gate = { ...was, decide: (ctx) => decide.call(gate, ctx) }
  if (check !== undefined) copy.check = (options) => check.call(gate, options)
  registered.set(gate, { copy, was })
  return copy
}

/** Of a class, too, whose methods are not its own. */
function readGate(gate: Gate): Gate {
  const { id, point, decide, priority, timeoutMs, onFailure, shadow, match, names, runtime, check } = gate
  const lists = { point: listOf(point), match: listOf(match), names: listOf(names) }
  return defined({ id, decide, priority, timeoutMs, onFailure, shadow, runtime, check, ...lists }) as Gate
}

function listOf<T>(value: T): T {
  return Array.isArray(value) ? (value.slice() as T) : value
}

function isAsItWas(gate: Gate, was: Gate): boolean {
  const now = readGate(gate)
  const names = Object.keys(now) as (keyof Gate)[]
  return names.length === Object.keys(was).length && names.every((name) => isSame(now[name], was[name]))
}

function isSame(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return Object.is(one, other)
  return one.length === other.length && one.every((item, index) => item === other[index])
}
