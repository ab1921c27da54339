import type { LlmCallInit } from '../../dispatcher/index.ts'
import type { HumanAction, LlmResponse, PendingTool } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import type { LlmReading } from '../../wire/reading.ts'
import { asList, asObject, asText, type Loose } from '../../wire/reading.ts'
import type { SafeCalls } from '../safe/calls.ts'

const ACTIONS: Readonly<Record<string, HumanAction>> = {
  accept: 'approve',
  decline: 'reject',
  cancel: 'rejectAndContinue',
}

/** A server asks its user something: told as the question to a human that it is. */
export async function askHuman<R>(
  calls: SafeCalls,
  params: Loose,
  tools: readonly PendingTool[],
  ask: () => R | PromiseLike<R>,
): Promise<R> {
  const instructions = asText(params.message)
  const human = calls.openHumanIntervention({ pendingTools: tools, ...defined({ instructions }) })
  try {
    const answer = await ask()
    const action = asText(asObject(answer)?.action) ?? ''
    human.answered({ action: Object.hasOwn(ACTIONS, action) ? (ACTIONS[action] as HumanAction) : 'reject' })
    return answer
  } catch (error) {
    human.fail(error)
    throw error
  }
}

/** A server asks its client's model: a model call, on which gates decide. */
export function askModel(calls: SafeCalls, params: Loose, ask: (params: Loose) => unknown): Promise<unknown> {
  const { _meta, ...request } = params
  const [hint] = asList(asObject(params.modelPreferences)?.hints)
  const init: LlmCallInit<unknown> = {
    model: asText(asObject(hint)?.name) || 'unknown',
    provider: 'mcp',
    request,
    read,
    standIn: ({ content, model = 'hookspan' }: LlmResponse) => ({
      role: 'assistant',
      model,
      stopReason: 'endTurn',
      content: { type: 'text', text: content ?? '' },
    }),
  }
  return calls.llmCall(init, async (asked) => ask({ ...asked, ...defined({ _meta }) }))
}

function read(reply: unknown): LlmReading {
  const { content, model, stopReason } = asObject(reply) ?? {}
  const texts = (Array.isArray(content) ? content : [content]).map(
    (block) => asText(asObject(block)?.text) ?? '',
  )
  const reason = asText(stopReason)
  return {
    response: defined({
      content: texts.join(''),
      model: asText(model),
      finishReasons: reason === undefined ? undefined : [reason],
    }),
  }
}
