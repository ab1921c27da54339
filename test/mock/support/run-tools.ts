import type { HookDispatcher, ToolCallInit, ToolOutcome } from 'hookspan'

export interface Call extends Partial<ToolCallInit<unknown>> {
  apiName: string
}

/** What the real tools did; a test of mocks wants it empty. */
export class RealTools {
  readonly ran: string[] = []
  readonly run = (name: string) => async () => {
    this.ran.push(name)
    return `real ${name}`
  }
}

/** Makes the calls in one step of an agent, one after the other, and ends the run. */
export async function runTools(
  dispatcher: HookDispatcher,
  calls: readonly Call[],
  { agentName = 'support', real = new RealTools() }: { agentName?: string; real?: RealTools } = {},
): Promise<ToolOutcome<unknown>[]> {
  const operation = dispatcher.startOperation({ agentName })
  const outcomes = await operation.step(async (step) => {
    const all: ToolOutcome<unknown>[] = []
    for (const [index, call] of calls.entries()) {
      const init = { toolCallId: `call_${index}`, args: {}, ...call }
      all.push(await step.toolCall<unknown, unknown>(init, real.run(call.apiName)))
    }
    return all
  })
  await operation.complete()
  return outcomes
}

export function resultOf(outcome: ToolOutcome<unknown> | undefined): unknown {
  return outcome !== undefined && 'result' in outcome ? outcome.result : outcome
}

export function errorOf(outcome: ToolOutcome<unknown> | undefined): Error {
  if (outcome?.state !== 'errored') throw new Error(`expected an errored call, got ${outcome?.state}`)
  return outcome.error as Error
}

export function thrownBy(fn: () => void): Error & { code?: string } {
  try {
    fn()
  } catch (error) {
    return error as Error
  }
  throw new Error('expected it to throw')
}
