import type { CompleteInit } from '../../dispatcher/index.ts'
import { defined } from '../../internal/objects.ts'
import { asList, asObject, asObjects, asText, type Loose, parseArguments } from '../../wire/reading.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { instructionIn, saidIn } from '../instruction.ts'
import { replace } from '../replace.ts'
import type { SafeCalls } from '../safe/calls.ts'
import { type FailedCall, SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { warnOnce } from '../warn-once.ts'
import { OPENAI_CAPABILITIES } from './capabilities.ts'
import { type ToolPlace, watchTools } from './runnable-tool.ts'

/** The SDK's runner of a loop, begun once whoever made it has it. */
interface Runner {
  readonly messages: readonly unknown[]
  readonly controller: AbortController
  _runTools(client: unknown, params: Loose, ...more: unknown[]): Promise<void>
}

interface Completions {
  runTools(params: Loose, options?: Loose): Runner
}

const loops = new WeakSet<SdkLoop>()

/** Where a runner makes its model calls: each is a turn. Undefined outside of one, and in the loop of another SDK. */
export function turnsHere(): (() => Promise<SafeCalls>) | undefined {
  const loop = SdkLoop.current
  return loop !== undefined && loops.has(loop) ? () => loop.nextTurn() : undefined
}

/** Makes each loop that `chat.completions.runTools()` runs an agent. @returns leaves the client as it was. */
export function watchRunners(client: object, options: ObserveOptions): () => void {
  const completions = (client as { chat?: { completions?: Partial<Completions> } }).chat?.completions
  if (typeof completions?.runTools !== 'function') return () => {}
  const { runTools } = completions
  const watched: Completions['runTools'] = (params, more) => {
    const runner = runTools.call(completions, params, more)
    if (typeof runner?._runTools === 'function') watchRunner(runner, options)
    else
      warnOnce(
        'hookspan cannot see the tools that `runTools()` of this `openai` client runs. Update hookspan.',
      )
    return runner
  }
  return replace(completions as Completions, 'runTools', watched, true)
}

function watchRunner(runner: Runner, options: ObserveOptions): void {
  const { _runTools: run } = runner
  replace(runner, '_runTools', async (client, params, ...more) => {
    const { signal } = runner.controller
    const loop = await SdkLoop.begin({ ...toldOf(params, options), signal })
    loops.add(loop)
    loop.failures = () => failuresIn(runner.messages)
    const place: ToolPlace = {
      loop,
      signal,
      more: [runner, params.toolContext],
      idOf: idsIn(runner.messages),
    }
    const tools = Array.isArray(params.tools) ? watchTools(params.tools, place) : params.tools
    try {
      await loop.run(() => run.call(runner, client, { ...params, messages: loop.input, tools }, ...more))
    } catch (error) {
      await loop.fail(error)
      throw error
    }
    await loop.complete(endingOf(runner.messages, params))
  })
}

function toldOf({ messages, tools }: Loose, { dispatcher, operation, agentName }: ObserveOptions) {
  const said = asObjects(messages)
  const instructions = said.find(({ role }) => role === 'system' || role === 'developer')
  const names = asObjects(tools).flatMap((tool) => {
    const { name, function: fn } = asObject(tool.function) ?? {}
    const told = asText(name) || (typeof fn === 'function' ? fn.name : '')
    return told ? [{ name: told }] : []
  })
  return {
    dispatcher,
    adapter: { name: 'openai', capabilities: OPENAI_CAPABILITIES },
    instruction: instructionIn(messages) ?? '',
    tools: names,
    ...defined({
      operation,
      agentName,
      input: messages,
      instructions: saidIn(instructions?.content) || undefined,
    }),
  }
}

/** The runner tells a function everything but which call it is made for. */
function idsIn(messages: readonly unknown[]): ToolPlace['idOf'] {
  const taken = new Set<unknown>()
  return (name, text) => {
    const asked = asObjects(messages).findLast(({ tool_calls }) => tool_calls !== undefined)
    const call = asObjects(asked?.tool_calls).find((one) => {
      const called = asObject(one.function)
      return called?.name === name && called.arguments === text && !taken.has(one)
    })
    taken.add(call)
    return asText(call?.id)
  }
}

/** What the runner says to the calls of the last reply that it has no function for, beside what functions gave. */
function failuresIn(messages: readonly unknown[]): FailedCall[] {
  const said = asObjects(messages)
  const at = said.findLastIndex(({ tool_calls }) => tool_calls !== undefined)
  const answers = new Map(said.slice(at + 1).map(({ tool_call_id, content }) => [tool_call_id, content]))
  return asObjects(said[at]?.tool_calls).flatMap(({ id, function: called }) => {
    const { name, arguments: text } = asObject(called) ?? {}
    const [toolCallId, apiName, error] = [asText(id), asText(name), asText(answers.get(id))]
    if (!toolCallId || !apiName || error === undefined) return []
    return [
      { init: { toolCallId, apiName, args: parseArguments(asText(text) ?? '') }, error: new Error(error) },
    ]
  })
}

/** It ends with an answer, with the one call that it was made for, or at its limit. */
function endingOf(messages: readonly unknown[], { tool_choice }: Loose): CompleteInit {
  const last = asObject(messages.at(-1))
  if (last?.role === 'assistant' && asList(last.tool_calls).length === 0) {
    return { reason: 'done', ...defined({ content: asText(last.content) }) }
  }
  return { reason: asObject(tool_choice)?.type === 'function' ? 'done' : 'max_steps' }
}
