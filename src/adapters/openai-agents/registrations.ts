import type { Agent, FunctionTool } from './sdk.ts'

/**
 * The SDK keeps, by the identity of a tool's two functions, how its input is parsed and whether its approval is a
 * constant. A function that stands in for one of them has to be known there as well, or the SDK would treat the tool as
 * one that is not its own: input that is no JSON would wait for a human, and a condition of approval would see arguments
 * that no schema has read. The two are found by watching the SDK make a tool, within one synchronous call. Where they are
 * not found, nothing is let through for it.
 */
export interface Registrations {
  readonly parsers: WeakMap<object, unknown> | undefined
  readonly constants: WeakSet<object> | undefined
}

const known = new WeakMap<object, Registrations>()

export function registrationsOf(agent: Agent): Registrations {
  const asTool = agent.asTool
  if (typeof asTool !== 'function') return { parsers: undefined, constants: undefined }
  const found = known.get(asTool) ?? watched(() => asTool.call(agent, PROBE))
  known.set(asTool, found)
  return found
}

const PROBE = { toolName: 'hookspan_probe', toolDescription: '' }

function watched(make: () => FunctionTool): Registrations {
  const maps: [WeakMap<object, unknown>, unknown][] = []
  const sets: [WeakSet<object>, unknown][] = []
  const { set } = WeakMap.prototype
  const { add } = WeakSet.prototype
  try {
    WeakMap.prototype.set = function (key, value) {
      maps.push([this, key])
      return set.call(this, key, value)
    }
    WeakSet.prototype.add = function (value) {
      sets.push([this, value])
      return add.call(this, value)
    }
    const tool = make()
    return {
      parsers: maps.find(([, key]) => key === tool.invoke)?.[0],
      constants: sets.find(([, value]) => value === tool.needsApproval)?.[0],
    }
  } catch {
    return { parsers: undefined, constants: undefined }
  } finally {
    restore(() => {
      WeakMap.prototype.set = set
    })
    restore(() => {
      WeakSet.prototype.add = add
    })
  }
}

/** Where the built-ins are frozen, there is nothing to put back. */
function restore(put: () => void): void {
  try {
    put()
  } catch {}
}

/** Makes the SDK treat one function as it treats another. */
export function registerAlike(
  { parsers, constants }: Registrations,
  original: object,
  standIn: object,
): void {
  if (parsers?.has(original)) parsers.set(standIn, parsers.get(original))
  if (constants?.has(original)) constants.add(standIn)
}
