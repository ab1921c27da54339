import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { HookDispatcher, type Operation } from 'hookspan'
import { type RecordedToolCall, type ReplayReport, replayTools, type ToolRecording } from 'hookspan/mock'
import { type RecordedRun, readRecordings } from '../../../src/cli/replay/recordings/index.ts'

/** One call as the agent makes it, with what the recording says it was answered. */
export interface PlannedCall {
  readonly agent: string
  readonly step: number
  readonly tool: string
  readonly args: unknown
  readonly toolCallId: string
  readonly content: string
}

export interface Plan {
  readonly name: string
  readonly calls: readonly PlannedCall[]
}

/** The tool calls of every recorded run, in order; calls made in one message share a step. */
export async function readPlans(folder: string): Promise<Plan[]> {
  const files = ['tau-bench', 'tau2-bench'].flatMap((name) =>
    readdirSync(join(folder, name))
      .filter((file) => file.endsWith('.json'))
      .map((file) => join(folder, name, file)),
  )
  const runs = await Promise.all(files.map((file) => readRecordings(file)))
  return runs.flat().map(toPlan)
}

function toPlan(run: RecordedRun): Plan {
  const stepOf = new Map<number, number>()
  let step = 0
  for (const item of run.items) {
    if (!('calls' in item) || item.calls.length === 0) continue
    for (const call of item.calls) stepOf.set(call.index, step)
    step++
  }
  const calls = run.calls.flatMap((call): PlannedCall[] => {
    const result = call.resultItem === undefined ? undefined : run.items[call.resultItem]
    if (result?.kind !== 'toolResult') return []
    const { id: toolCallId, name: tool, argumentsText, args = argumentsText, madeBy, index } = call
    return [{ agent: madeBy, step: stepOf.get(index) ?? 0, tool, args, toolCallId, content: result.content }]
  })
  return { name: `${run.source.split('/').slice(-2).join('/')}#${run.index}`, calls }
}

export function toRecording({ calls }: Plan): ToolRecording {
  const recorded = calls.map(
    ({ agent, step, tool, args, content }): RecordedToolCall => ({
      agent,
      step,
      tool,
      args,
      result: content,
    }),
  )
  const tools = Object.fromEntries(calls.map(({ tool }) => [tool, {}]))
  return { format: 'hookspan-recording', version: 1, redacted: false, tools, calls: recorded }
}

export interface Replayed {
  readonly report: ReplayReport
  /** Real tools that ran. */
  readonly live: number
  /** Calls whose answer is not the recorded one. */
  readonly wrong: number
  readonly failure: Error | undefined
}

/** Makes the planned calls against a recording: calls of one step at once, steps one after the other. */
export async function replay(plan: Plan, recording: ToolRecording): Promise<Replayed> {
  const dispatcher = new HookDispatcher()
  const replaying = replayTools(dispatcher, { recording })
  const operations = new Map<string, Operation>()
  let live = 0
  let wrong = 0
  for (const batch of steps(plan.calls)) {
    const agentName = batch[0]?.agent as string
    const operation = operations.get(agentName) ?? dispatcher.startOperation({ agentName })
    operations.set(agentName, operation)
    await operation.step(async (step) => {
      const outcomes = await Promise.all(
        batch.map(({ tool: apiName, args, toolCallId }) =>
          step.toolCall({ apiName, args, toolCallId }, () => {
            live++
            return 'live'
          }),
        ),
      )
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.toToolMessage().content !== batch[index]?.content) wrong++
      }
    })
  }
  for (const operation of operations.values()) await operation.complete()
  const report = replaying.report()
  let failure: Error | undefined
  try {
    replaying[Symbol.dispose]()
  } catch (error) {
    failure = error as Error
  }
  return { report, live, wrong, failure }
}

function steps(calls: readonly PlannedCall[]): PlannedCall[][] {
  const batches: PlannedCall[][] = []
  for (const call of calls) {
    const last = batches.at(-1)
    if (last?.[0]?.step === call.step && last[0].agent === call.agent) last.push(call)
    else batches.push([call])
  }
  return batches
}
