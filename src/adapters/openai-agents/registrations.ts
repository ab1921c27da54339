import { AsyncLocalStorage } from 'node:async_hooks'
import { isRecord } from '../../internal/objects.ts'
import { parseArguments } from '../../wire/reading.ts'
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
  readonly servers: Bindings | undefined
}

const known = new WeakMap<object, Omit<Registrations, 'servers'>>()

export function registrationsOf(agent: Agent): Registrations {
  const { asTool, getMcpTools } = agent
  if (typeof asTool !== 'function') return { parsers: undefined, constants: undefined, servers: undefined }
  const found = known.get(asTool) ?? watched(() => asTool.call(agent, PROBE))
  known.set(asTool, found)
  return { ...found, servers: getMcpTools && bindings.get(getMcpTools) }
}

const PROBE = { toolName: 'hookspan_probe', toolDescription: '' }

function watched(make: () => FunctionTool): Omit<Registrations, 'servers'> {
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

/** Of which MCP server a tool is, by the identity of its function. */
type Bindings = WeakMap<object, { readonly serverName?: unknown }>

const bindings = new WeakMap<object, Bindings | undefined>()

/** Where no trace of the user's would show what is listed. */
const outside = AsyncLocalStorage.snapshot()

/**
 * Finds where the SDK keeps of which server a tool is, by having it list the tools of a server that is none. Nothing on the
 * tools themselves says it, and a run that is resumed is refused a tool of which the SDK does not know its server any more.
 * Asked once of a copy of the SDK, before `serverOf()` can say anything.
 */
export async function learnServers(agent: Agent): Promise<void> {
  const list = agent?.getMcpTools
  if (typeof list !== 'function' || bindings.has(list)) return
  let found: Bindings | undefined
  const { set } = WeakMap.prototype
  const stop = () =>
    restore(() => {
      WeakMap.prototype.set = set
    })
  const server = {
    name: PROBE.toolName,
    cacheToolsList: false,
    listTools: async () => [{ name: PROBE.toolName, inputSchema: { type: 'object', properties: {} } }],
    // Read at the beginning of the synchronous part that binds the tool.
    get toolInputGuardrails() {
      restore(() => {
        WeakMap.prototype.set = function (key, value) {
          if (value?.serverName === PROBE.toolName) found = this
          return set.call(this, key, value)
        }
      })
      queueMicrotask(stop)
      return undefined
    },
  }
  const asking = Object.create(agent, { mcpServers: { value: [server] }, mcpConfig: { value: {} } }) as Agent
  await outside(async () => list.call(asking)).catch(() => {})
  bindings.set(list, found)
}

/** The server of a tool, without what is secret in an address. Undefined where it is of none, or the SDK does not say. */
export function serverOf(agent: Agent, tool: FunctionTool): string | undefined {
  const name = agent.getMcpTools && bindings.get(agent.getMcpTools)?.get(tool.invoke)?.serverName
  return typeof name === 'string' ? name : undefined
}

/**
 * What the SDK shows of a call where it asks whether it needs a human: where the tool has a condition for that, and of a Standard
 * Schema, what the schema makes of the text, else the text's own JSON. Who decides sees the same whenever it is asked.
 */
export function argumentsOf(
  { invoke, needsApproval }: FunctionTool,
  text: string,
  { parsers, constants }: Registrations,
): unknown {
  const registered = parsers?.get(invoke)
  const { parser, validationMode } = isRecord(registered) ? registered : {}
  const isConstant = needsApproval === undefined || constants?.has(needsApproval) === true
  if (typeof parser !== 'function' || (isConstant && validationMode !== 'standard'))
    return parseArguments(text)
  try {
    return parser(text)
  } catch {
    return parseArguments(text)
  }
}

/** Whether the SDK only reads the text of a call: of a JSON Schema it checks nothing. */
export function isUnchecked({ invoke }: FunctionTool, { parsers }: Registrations): boolean {
  const registered = parsers?.get(invoke)
  const { parser } = isRecord(registered) ? registered : {}
  if (typeof parser !== 'function') return false
  try {
    // No tool takes it: arguments are an object.
    return parser('0') === 0
  } catch {
    return false
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
  { parsers, constants, servers }: Registrations,
  original: object,
  standIn: object,
): void {
  if (parsers?.has(original)) parsers.set(standIn, parsers.get(original))
  if (constants?.has(original)) constants.add(standIn)
  const server = servers?.get(original)
  if (server !== undefined) servers?.set(standIn, server)
}
