import type { LlmCallInit } from '../../dispatcher/index.ts'
import type { HumanAction, LlmResponse, MessagePart, PendingTool } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import { mediaPart, otherPart } from '../../wire/parts.ts'
import type { LlmReading } from '../../wire/reading.ts'
import {
  argumentsText,
  asList,
  asObject,
  asObjects,
  asText,
  joined,
  type Loose,
  parseArguments,
  present,
} from '../../wire/reading.ts'
import { assertSent } from '../gate-request.ts'
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
    standIn: write,
  }
  return calls.llmCall(init, async (asked) => {
    assertSent(request, asked, {
      by: 'a question over MCP',
      isSent: (field) => field in request || FIELDS.includes(field),
      mend: (field) => `${OWN_NAMES[field] ?? ''} It takes ${FIELDS.join(', ')}.`.trim(),
    })
    return ask({ ...asked, ...defined({ _meta }) })
  })
}

/** Of `sampling/createMessage`: clients leave out what else is said. */
const FIELDS = [
  ...['messages', 'systemPrompt', 'maxTokens', 'temperature', 'stopSequences', 'tools', 'toolChoice'],
  ...['modelPreferences', 'includeContext', 'metadata'],
]

const OWN_NAMES: Readonly<Record<string, string>> = {
  model: 'Say `modelPreferences: { hints: [{ name }] }`.',
  max_tokens: 'Say `maxTokens`.',
  stop: 'Say `stopSequences`.',
  stop_sequences: 'Say `stopSequences`.',
  system: 'Say `systemPrompt`.',
  tool_choice: 'Say `toolChoice`.',
}

const blocksOf = (reply: unknown) => asObjects([asObject(reply)?.content].flat())
const isCall = ({ type }: Loose) => type === 'tool_use'
/** A sound, a picture. */
const isOther = (block: Loose) => block.type !== 'text' && !isCall(block)
const shown = (block: Loose): MessagePart => {
  const { type, data, mimeType } = block
  return data === undefined ? otherPart(block) : mediaPart(asText(type) ?? '', { data, mimeType })
}

function read(reply: unknown): LlmReading {
  const { model, stopReason } = asObject(reply) ?? {}
  const blocks = blocksOf(reply)
  const reason = asText(stopReason)
  return {
    response: present<LlmResponse>({
      content: joined(blocks.map(({ text }) => asText(text))),
      toolCalls: blocks.filter(isCall).map(({ id, name, input }) => ({
        toolCallId: asText(id) ?? '',
        apiName: asText(name) ?? '',
        args: input,
      })),
      parts: blocks.filter(isOther).map(shown),
      model: asText(model),
      finishReasons: reason === undefined ? undefined : [reason],
    }),
  }
}

/** A reply in the place of the model's. What a gate left alone in one that it gave stays: sounds, pictures. */
function write(message: LlmResponse, given?: unknown): Loose {
  const { content = '', model = 'hookspan', toolCalls = [], finishReasons } = message
  const kept = blocksOf(given).filter(isOther)
  const calls = toolCalls.map((call) => ({
    type: 'tool_use',
    id: call.toolCallId,
    name: call.apiName,
    input: parseArguments(argumentsText(call)),
  }))
  const others = [...kept, ...calls]
  const text = { type: 'text', text: content }
  const stopReason = finishReasons?.[0] ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  return {
    role: 'assistant',
    ...asObject(given),
    model,
    stopReason: Object.hasOwn(STOPS, stopReason) ? STOPS[stopReason] : stopReason,
    // A list is only for who offered tools.
    content: others.length === 0 ? text : [...(content === '' ? [] : [text]), ...others],
  }
}

/** The words of chat completions; any other is taken as the protocol's own. */
const STOPS: Readonly<Record<string, string>> = {
  stop: 'endTurn',
  length: 'maxTokens',
  tool_calls: 'toolUse',
}
