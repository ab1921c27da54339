import { type CallMaker, callsHere, currentCalls, parentOfOther } from '../dispatcher/calls/call-maker.ts'
import { RunSuspended } from '../dispatcher/calls/suspended.ts'
import type {
  HookDispatcher,
  ParentOperation,
  ToolCallInit,
  ToolFunction,
  ToolOutcome,
} from '../dispatcher/index.ts'
import { type AdapterInfo, CAPABILITIES } from '../dispatcher/run/capabilities.ts'
import { isThenable } from '../internal/async.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, expected, type Fields } from '../internal/expect.ts'
import { marksOf } from '../internal/marks-of.ts'
import { defined, isRecord } from '../internal/objects.ts'
import { assertAdapterOptions } from './adapter-options.ts'
import { callIfFit } from './changed-arguments.ts'
import { isBubbleUp, isGraphInterrupt, isStrandsInterrupt } from './interrupts.ts'

export interface WrapToolsOptions {
  dispatcher: HookDispatcher
  /** Names the runs that are made for single calls. */
  agentName?: string
  /** The home of the tools, as traces and gates know it. @default 'local' */
  identifier?: string
  /**
   * What becomes of a call that a gate or a human refused: `throw` throws an error with the code `CALL_DENIED`; `tell`
   * gives what the model is to be told as the tool's result, for SDKs that end their run when a tool throws.
   *
   * @default 'throw'
   */
  onRefused?: 'throw' | 'tell'
}

const FIELDS: Fields<WrapToolsOptions> = {
  dispatcher: a.value,
  agentName: a.string,
  identifier: a.name,
  onRefused: a.oneOf('throw', 'tell'),
}

type AnyFunction = (...args: never[]) => unknown

/** A tool that is wrapped: a function gives a promise of what it gave before, and keeps what else it has. */
export type WrappedTool<T> = T extends (...args: infer A) => infer R
  ? ((...args: A) => Promise<Awaited<R>>) & Pick<T, keyof T>
  : T

export type WrappedTools<T extends object> = { readonly [K in keyof T]: WrappedTool<T[K]> }

/** What SDKs call the function of a tool, when it is an object. */
const BODIES = ['execute', 'run', 'handler', 'func', 'invoke', 'call'] as const

const SCHEMAS = ['inputSchema', 'parameters', 'schema'] as const

/** A single call cannot be parked; of all else there is nothing in it. */
const ADAPTER: AdapterInfo = {
  name: 'wrapTools',
  capabilities: {
    ...(Object.fromEntries(
      Object.keys(CAPABILITIES).map((name) => [name, true]),
    ) as AdapterInfo['capabilities']),
    park: false,
  },
}

const wrapped = new WeakMap<object, HookDispatcher>()

/**
 * Makes each call of these tools a tool call: of the step, tool or operation that is running, else of an operation of
 * its own. For SDKs without an adapter, and for plain functions. Gates, mocks and humans have their say; the first
 * argument is the tool's arguments, all others are handed on as they are.
 *
 * @param tools functions, or objects with one (`execute`, `run`, `handler`, `func`, `invoke` or `call`), by the names of
 * the tools. They stay as they are.
 * @returns copies with the same names, schemas and `this`.
 * @throws HookspanError `INVALID_OPTION` for what is no tool, or is wrapped for another dispatcher.
 * @example
 * const tools = wrapTools({ search, refund }, { dispatcher })
 */
export function wrapTools<T extends object>(tools: T, options: WrapToolsOptions): WrappedTools<T> {
  assertAdapterOptions(options, FIELDS, 'wrapTools')
  if (!isRecord(tools)) throw expected('the tools of wrapTools to be an object such as { search }', tools)
  const entries = Object.entries(tools).map(([name, tool]) => [name, wrapOne(name, tool, options)])
  return Object.fromEntries(entries) as WrappedTools<T>
}

function wrapOne(name: string, tool: unknown, options: WrapToolsOptions): unknown {
  if ((typeof tool !== 'function' && !isRecord(tool)) || tool === null) throw noTool(name, tool)
  const before = wrapped.get(tool)
  if (before === options.dispatcher) return tool
  if (before !== undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      `Tool "${name}" is wrapped for another dispatcher. Wrap the tool itself.`,
    )
  }
  const copy =
    typeof tool === 'function'
      ? wrapFunction(name, tool as AnyFunction, options)
      : wrapObject(name, tool, options)
  wrapped.set(copy, options.dispatcher)
  return copy
}

function noTool(name: string, tool: unknown): HookspanError {
  return expected(
    `tool "${name}" of wrapTools to be a function, or an object with one (${BODIES.join(', ')})`,
    tool,
  )
}

function wrapFunction(name: string, tool: AnyFunction, options: WrapToolsOptions): AnyFunction {
  // Genkit's tools: it looks up by name what it has made, and runs that.
  const other = BODIES.find((one) => Object.hasOwn(tool, one))
  if (other !== undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      `Tool "${name}" of wrapTools is a function with a ${other}() of its own, by which it would run past what is wrapped. Wrap the function that it is made of.`,
    )
  }
  const call = callOf(name, tool as unknown as Record<string, unknown>, options)
  const copy = function (this: unknown, ...args: unknown[]): Promise<unknown> {
    return call(args, (given) => tool.apply(this, given as never[]))
  }
  return Object.defineProperties(copy, marksOf(tool))
}

function wrapObject(name: string, tool: Record<string, unknown>, options: WrapToolsOptions): object {
  const key = BODIES.find((one) => typeof tool[one] === 'function')
  if (key === undefined) throw noTool(name, tool)
  const body = tool[key] as AnyFunction
  const call = callOf(name, tool, options)
  const value = function (this: unknown, ...args: unknown[]): Promise<unknown> {
    // A tool may keep what only it itself can read.
    const self = this === copy ? tool : this
    return call(args, (given) => body.apply(self, given as never[]))
  }
  Object.defineProperty(value, 'name', { value: body.name, configurable: true })
  const own = Object.getOwnPropertyDescriptors(tool) as PropertyDescriptorMap
  const replaced = { value, configurable: true, writable: true, enumerable: true }
  const copy: object = Object.create(Object.getPrototypeOf(tool), {
    ...readersOf(tool),
    ...own,
    [key]: replaced,
  })
  return copy
}

/** What a class tells of its tools out of `#private` fields, which no copy has: LlamaIndex's `metadata`. */
function readersOf(tool: object): PropertyDescriptorMap {
  const readers: PropertyDescriptorMap = {}
  let from = Object.getPrototypeOf(tool)
  for (; from !== null && from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const [name, { get, ...accessor }] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      if (get === undefined || Object.hasOwn(readers, name)) continue
      readers[name] = { ...accessor, get: reader(get, tool) }
    }
  }
  return readers
}

function reader(get: () => unknown, tool: object): () => unknown {
  return function (this: unknown) {
    try {
      return get.call(this)
    } catch (error) {
      const told = get.call(tool)
      // It might run the tool itself.
      if (typeof told === 'function') throw error
      return told
    }
  }
}

type Body = (args: unknown[]) => unknown

function callOf(
  apiName: string,
  tool: Readonly<Record<string, unknown>>,
  { dispatcher, agentName, identifier, onRefused = 'throw' }: WrapToolsOptions,
): (args: unknown[], body: Body) => Promise<unknown> {
  const schema = SCHEMAS.map((key) => tool[key]).find((value) => typeof value === 'object' && value !== null)
  const { description } = tool
  const about = defined({
    identifier,
    description: typeof description === 'string' ? description : undefined,
    inputSchema: schema,
  })
  return async ([args, ...rest], body) => {
    const init: ToolCallInit = { apiName, args, ...about, ...idOf(rest[0]) }
    const run = (now: unknown) => callIfFit(schema, args, now, () => body([now, ...rest]))
    const calls = callsHere(dispatcher)
    if (calls !== undefined) return resultOf(apiName, await made(calls, init, run), onRefused)
    const alone = async (given: unknown, parent?: ParentOperation, signal?: AbortSignal) => {
      const op = dispatcher.startOperation({
        ...defined({ agentName, parent, signal }),
        input: given,
        adapter: ADAPTER,
      })
      const call = await op.run(async () => {
        // The call of a run that is refused says so.
        const admitted = await op.admit().catch(() => given)
        return made(op, { ...init, args: admitted }, run)
      })
      const { outcome } = call
      if (outcome.state === 'errored') await op.fail(outcome.error)
      // Whoever stopped it makes the call again once there is an answer, in a run of its own.
      else if (outcome.state === 'waiting') op.park({ waitingFor: 'human' })
      else await op.complete()
      return resultOf(apiName, call, onRefused)
    }
    // In a run of another dispatcher it is a call of that run, too: each has its say, once.
    const other = currentCalls()
    if (other === undefined) return alone(args)
    const told = (given: unknown, { signal }: { signal: AbortSignal }) =>
      alone(given, { ...(parentOfOther(dispatcher) as ParentOperation) }, signal)
    return resultOf(apiName, await made(other, init, told), onRefused)
  }
}

interface Made {
  readonly outcome: ToolOutcome
  /** What the SDK threw through the tool, which is to go on to it. */
  readonly thrown?: unknown
}

/** A tool in which its SDK stops the run to ask somebody, or leaves its graph, has not failed. */
async function made(
  calls: CallMaker,
  init: ToolCallInit,
  run: ToolFunction<unknown, unknown>,
): Promise<Made> {
  let thrown: unknown
  const caught = (error: unknown): undefined => {
    const waits = isGraphInterrupt(error) || isStrandsInterrupt(error)
    if (!waits && !isBubbleUp(error)) throw error
    thrown = error
    if (waits) throw new RunSuspended()
  }
  const outcome = await calls.toolCall(init, (args, context) => {
    try {
      const value = run(args, context)
      return isThenable(value) ? value.then(undefined, caught) : value
    } catch (error) {
      return caught(error)
    }
  })
  return { outcome, thrown }
}

/** Many SDKs give the model's id of the call beside the arguments. */
function idOf(context: unknown): { toolCallId?: string } {
  const id = isRecord(context) ? context.toolCallId : undefined
  return typeof id === 'string' && id !== '' ? { toolCallId: id } : {}
}

function resultOf(name: string, { outcome, thrown }: Made, onRefused: 'throw' | 'tell'): unknown {
  if (thrown !== undefined) throw thrown
  if ('result' in outcome) return outcome.result
  if (outcome.state === 'errored') throw outcome.error
  if (onRefused === 'tell') return outcome.toToolMessage().content
  const why =
    outcome.state === 'waiting'
      ? 'waits for a human: park the operation, and make the call again when it goes on'
      : `was ${outcome.state} (${outcome.code}): ${outcome.reason}`
  throw new HookspanError('CALL_DENIED', `Tool call "${name}" ${why}`, { cause: outcome })
}
