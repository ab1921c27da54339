import type { ObservedRun } from '../sdk-run/observed-run.ts'
import type { MastraAgent, MastraOptions } from './sdk.ts'

/** What an output processor is asked about: the whole of what an agent gives. */
interface Given {
  readonly messages: unknown
  readonly result: { readonly text: string; readonly finishReason: string }
}

/**
 * An output processor, behind the agent's own, that has gates decide on the last word of a stream: what it throws is the error of
 * what the stream gives. Of an `onFinish` that throws, whoever reads the stream is told nothing, and waits for ever.
 */
export async function decidingLast(
  run: ObservedRun,
  agent: MastraAgent,
  { outputProcessors, requestContext }: MastraOptions,
): Promise<Pick<MastraOptions, 'outputProcessors'>> {
  if (run.isPart || !run.decidesLast) return {}
  const own = outputProcessors ?? (await agent.listConfiguredOutputProcessors?.(requestContext)) ?? []
  const processOutputResult = async ({ messages, result: { text, finishReason } }: Given) => {
    const refusal = UNFINISHED.includes(finishReason) ? undefined : await run.over(text)
    if (refusal !== undefined) throw refusal
    return messages
  }
  return { outputProcessors: [...own, { id: 'hookspan', processOutputResult }] }
}

const UNFINISHED = ['error', 'suspended']
