import type { Plugin } from '../../dispatcher/index.ts'
import { countRuns, type RecordedRun } from './recordings/index.ts'

/** What a run did, as its hooks told it. */
export interface Tally {
  modelTurns: number
  toolCalls: number
  toolCallsByName: Record<string, number>
  failedCalls: number
  inputTokens: number
  outputTokens: number
  costUsd: number
}

export function emptyTally(): Tally {
  return {
    modelTurns: 0,
    toolCalls: 0,
    toolCallsByName: {},
    failedCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
  }
}

/** Counts what runs do. */
export class TallyPlugin implements Plugin {
  readonly name = 'replay-tally'
  readonly hooks: NonNullable<Plugin['hooks']>
  readonly #tallies = new Map<string, Tally>()

  constructor() {
    const ofTool = (operationId: string, apiName: string, success: boolean) => {
      const tally = this.#of(operationId)
      tally.toolCalls++
      tally.toolCallsByName[apiName] = (tally.toolCallsByName[apiName] ?? 0) + 1
      if (!success) tally.failedCalls++
    }
    this.hooks = [
      {
        id: 'tally-model',
        type: 'afterLlmCall',
        handler: ({ operationId, usage, costUsd }) => {
          const tally = this.#of(operationId)
          tally.modelTurns++
          tally.inputTokens += usage?.inputTokens ?? 0
          tally.outputTokens += usage?.outputTokens ?? 0
          tally.costUsd += costUsd ?? 0
        },
      },
      {
        id: 'tally-model-error',
        type: 'onLlmCallError',
        handler: ({ operationId }) => {
          this.#of(operationId).modelTurns++
        },
      },
      {
        id: 'tally-tool',
        type: 'afterToolCall',
        handler: ({ operationId, apiName, success }) => ofTool(operationId, apiName, success),
      },
      {
        id: 'tally-tool-error',
        type: 'onToolCallError',
        handler: ({ operationId, apiName }) => ofTool(operationId, apiName, false),
      },
    ]
  }

  take(operationId: string): Tally {
    const tally = this.#of(operationId)
    this.#tallies.delete(operationId)
    return tally
  }

  #of(operationId: string): Tally {
    const tally = this.#tallies.get(operationId) ?? emptyTally()
    this.#tallies.set(operationId, tally)
    return tally
  }
}

/** What the replay did other than the recording says; undefined when it did the same. */
export function differenceOf(tally: Tally, run: RecordedRun): string | undefined {
  const counts = countRuns([run])
  // A call whose result the recording does not hold fails in the replay.
  const failed = counts.failedCalls + counts.toolCalls - counts.toolResults
  const pairs: [string, number, number][] = [
    ['model turns', counts.assistantTurns, tally.modelTurns],
    ['tool calls', counts.toolCalls, tally.toolCalls],
    ['failed calls', failed, tally.failedCalls],
    ...Object.entries(counts.toolCallsByName).map(([name, count]): [string, number, number] => [
      `calls of ${name}`,
      count,
      tally.toolCallsByName[name] ?? 0,
    ]),
  ]
  const wrong = pairs.filter(([, recorded, replayed]) => recorded !== replayed)
  if (wrong.length === 0) return undefined
  return wrong
    .map(([what, recorded, replayed]) => `${recorded} ${what} recorded, ${replayed} replayed`)
    .join('; ')
}

export function addTally(sum: Tally, tally: Tally): void {
  sum.modelTurns += tally.modelTurns
  sum.toolCalls += tally.toolCalls
  sum.failedCalls += tally.failedCalls
  sum.inputTokens += tally.inputTokens
  sum.outputTokens += tally.outputTokens
  sum.costUsd += tally.costUsd
  for (const [name, count] of Object.entries(tally.toolCallsByName)) {
    sum.toolCallsByName[name] = (sum.toolCallsByName[name] ?? 0) + count
  }
}
