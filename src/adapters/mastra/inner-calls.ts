import { AsyncLocalStorage } from 'node:async_hooks'
import { asName } from '../../wire/reading.ts'
import { isLocked } from '../replace.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import { MastraRun } from './mastra-run.ts'
import { patches } from './patches.ts'
import type { InnerContext, MastraTools, MastraWorkflowTool, Suspending } from './sdk.ts'

/** A call of the loop. */
interface LoopCall {
  readonly run: MastraRun
  readonly name: string
  readonly toolCallId: string | undefined
}

/** The id of the tool that is at work, and of which call. */
const atWork = new AsyncLocalStorage<{ readonly id: string | undefined; readonly call?: LoopCall }>()

export function whileAtWork<T>(tool: { readonly id?: unknown }, fn: () => T, call?: LoopCall): T {
  return atWork.run({ id: asName(tool.id), ...(call && { call }) }, fn)
}

/** Whether this is a call that is at work already: what a processor puts around a tool calls the tool. */
export function isAtWork({ run, name, toolCallId }: LoopCall): boolean {
  const { call } = atWork.getStore() ?? {}
  return toolCallId !== undefined && call?.toolCallId === toolCallId && call.name === name && call.run === run
}

/** What the model calls the tools of agents. */
const names = new WeakMap<object, string>()

/**
 * A tool whose code runs others of the agent by itself (`other.execute()`) comes by no place of the loop: these calls are
 * seen at the tools that the agent was given. They are left as they are where no tool is at work.
 */
export function seeInnerCalls(tools: MastraTools | undefined): void {
  for (const [name, tool] of Object.entries(tools ?? {})) {
    const own = tool as unknown as MastraWorkflowTool
    // What has none is made for each run.
    if (asName(own?.id) === undefined) continue
    names.set(own, name)
    if (!isLocked(own, 'execute')) observeExecute(own)
  }
}

/** What a tool failed with that goes on in another call, once somebody has answered what it asks. */
export const WAITS = 'The tool waits for an answer, and so its agent stopped.'

/** The same, which tells that the tool stops for an answer. */
function seenSuspending(context: InnerContext, suspends: () => void): InnerContext {
  const seen = ({ suspend, ...place }: Suspending): Suspending => ({
    ...place,
    ...(suspend && {
      suspend: (...payload: unknown[]) => {
        suspends()
        return suspend(...payload)
      },
    }),
  })
  const { agent, workflow } = context
  return { ...context, ...(agent && { agent: seen(agent) }), ...(workflow && { workflow: seen(workflow) }) }
}

/** Makes what is run of the tool past the loop a call of the run in which it is: of a step of a workflow, of another tool. */
export function observeExecute(tool: MastraWorkflowTool): void {
  const { execute } = tool
  if (typeof execute !== 'function' || patches.has(tool)) return
  patches.replace(tool, 'execute', (input, context, ...more: unknown[]) => {
    const body = (args: unknown, given = context) => execute.call(tool, args, given, ...(more as []))
    const isStep = context?.workflow !== undefined && MastraRun.current !== undefined
    const outer = atWork.getStore()
    const isInner = outer !== undefined && outer.id !== tool.id
    const calls = isStep || isInner ? currentCalls() : undefined
    if (calls === undefined) return body(input)
    return made(tool, isStep ? tool.id : (names.get(tool) ?? tool.id), calls, input, context, body)
  })
}

async function made(
  tool: MastraWorkflowTool,
  apiName: string,
  calls: SafeCalls,
  args: unknown,
  context: InnerContext | undefined,
  body: (args: unknown, context?: InnerContext) => unknown,
): Promise<unknown> {
  const { description } = tool
  let asks: { readonly value: unknown } | undefined
  const outcome = await calls.toolCall<unknown, unknown>(
    {
      apiName,
      args,
      outlastsAbort: true,
      // Its workflow, or the tool that runs it, would be over before anybody has answered.
      parkable: false,
      ...(typeof description === 'string' && { description }),
    },
    async (given) => {
      let suspended = false
      const seen = context && seenSuspending(context, () => (suspended = true))
      const value = await whileAtWork(tool, () => body(given, seen))
      if (!suspended) return value
      asks = { value }
      throw new Error(WAITS)
    },
  )
  if (asks !== undefined) return asks.value
  if ('result' in outcome) return outcome.result
  // A step that may not be made ends its workflow, and says why.
  throw outcome.state === 'errored' ? outcome.error : new Error(outcome.toToolMessage().content)
}
