import { defined } from '../../internal/objects.ts'
import type { Respond, ScriptedStep } from '../../mock/scripted-server/index.ts'
import type { RecordedAssistantTurn, RecordedRun } from './recordings/index.ts'

/** Names the run that a request belongs to, so that several can be replayed at once. */
export const RUN_HEADER = 'x-hookspan-replay'

/** The recorded model turns of several runs, for the scripted server: each run gets its own, in their order. */
export class ServedTurns {
  readonly #runs = new Map<string, ScriptedStep[]>()

  add(operationId: string, run: RecordedRun): void {
    const turns = run.items.filter((item) => item.kind === 'assistant')
    this.#runs.set(
      operationId,
      turns.map((turn, index) => stepOf(turn, `${run.id}-${index}`)),
    )
  }

  remove(operationId: string): void {
    this.#runs.delete(operationId)
  }

  readonly respond: Respond = (request) =>
    this.#runs.get(decodeURIComponent(request.headers[RUN_HEADER] ?? ''))?.shift()
}

function stepOf(turn: RecordedAssistantTurn, id: string): ScriptedStep {
  const { content, calls, usage, reasoning, finishReason, responseModel: model, error } = turn
  // As a server of OpenAI's says it: whatever it was, the recording has its text only.
  if (error !== undefined) return { id, error: { status: 500, message: error } }
  return {
    id,
    content,
    toolCalls: calls.map((call) => ({ id: call.id, name: call.name, arguments: call.argumentsText })),
    ...defined({ usage, reasoning, finishReason, model }),
  }
}
