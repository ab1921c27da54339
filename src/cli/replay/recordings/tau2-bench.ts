import { isDeepStrictEqual } from 'node:util'
import { describeValue } from '../../../internal/errors.ts'
import { jsonIn } from '../../../internal/json.ts'
import { defined, isRecord } from '../../../internal/objects.ts'
import { expectString, type Fields, optionalNumber, originOf, rebuild, textAt, toEpochMs } from './fields.ts'
import { prompts } from './openai-chat.ts'
import { type OnBad, parseEach } from './parse-each.ts'
import { RecordingError, type RecordingPlace } from './recording-error.ts'
import { RunBuilder } from './run-builder.ts'
import type { RecordedCall, RecordedItem, RecordedRun, RecordedUsage } from './types.ts'

/** One run of tau2-bench, which newer versions write to a file of its own. */
export function isTau2Simulation(value: unknown): value is Fields {
  return isRecord(value) && 'messages' in value && 'termination_reason' in value
}

/** tau2-bench: `{ info: { environment_info: { policy } }, simulations: [{ messages }, …] }`, or simulations alone. */
export function parseTau2Bench(file: unknown, source: string, onBad?: OnBad): RecordedRun[] {
  const value = isTau2Simulation(file)
    ? { simulations: [file] }
    : Array.isArray(file)
      ? { simulations: file }
      : file
  if (!isRecord(value) || !Array.isArray(value.simulations)) {
    throw new RecordingError(
      { source },
      `expected an object with a \`simulations\` list, got ${describeValue(value)}.`,
    )
  }
  const policy = textAt(value, 'info', 'environment_info', 'policy')
  const model = textAt(value, 'info', 'agent_info', 'llm')
  return parseEach(value.simulations, onBad, (simulation, index) => {
    const place = { source, run: index }
    if (!isRecord(simulation) || !Array.isArray(simulation.messages)) {
      throw new RecordingError(
        place,
        `expected a simulation with a \`messages\` list, got ${describeValue(simulation)}.`,
      )
    }
    if (simulation.messages.length === 0)
      throw new RecordingError(place, 'the simulation has no messages. Remove it.')
    const builder = new RunBuilder()
    for (const [position, message] of simulation.messages.entries()) {
      addMessage(builder, message, { ...place, message: position })
    }
    const { items, calls } = builder
    return {
      id: typeof simulation.id === 'string' ? simulation.id : `simulation-${index}`,
      ...{ source, format: 'tau2-bench' as const, index },
      ...prompts(items),
      ...defined({ systemPrompt: policy, model }),
      ...{ items, calls, outcome: outcomeOf(simulation) },
    }
  })
}

function outcomeOf(simulation: Fields): RecordedRun['outcome'] {
  const durationSeconds = optionalNumber(simulation.duration)
  const { reward_info: rewardInfo, termination_reason: reason } = simulation
  return defined({
    reward: isRecord(rewardInfo) ? optionalNumber(rewardInfo.reward) : undefined,
    terminationReason: typeof reason === 'string' ? reason : undefined,
    startedAtMs: toEpochMs(simulation.start_time),
    endedAtMs: toEpochMs(simulation.end_time),
    durationMs: durationSeconds === undefined ? undefined : durationSeconds * 1000,
    agentCostUsd: optionalNumber(simulation.agent_cost),
    userCostUsd: optionalNumber(simulation.user_cost),
  })
}

function addMessage(builder: RunBuilder, message: unknown, place: RecordingPlace): void {
  if (!isRecord(message))
    throw new RecordingError(place, `expected a message, got ${describeValue(message)}.`)
  const { role } = message
  if (role === 'assistant' || role === 'user') addSpoken(builder, message, role, place)
  else if (role === 'tool') addToolResult(builder, message, place)
  else
    throw new RecordingError(
      place,
      `expected \`role\` to be assistant, user or tool, got ${describeValue(role)}.`,
    )
}

function addSpoken(
  builder: RunBuilder,
  message: Fields,
  role: 'assistant' | 'user',
  place: RecordingPlace,
): void {
  const content = message.content === null ? null : expectString(message.content, '`content`', place)
  const toolCalls = message.tool_calls ?? []
  if (!Array.isArray(toolCalls)) {
    throw new RecordingError(place, `expected \`tool_calls\` to be a list, got ${describeValue(toolCalls)}.`)
  }
  const written = writtenArguments(message.raw_data)
  const calls = builder.addCalls(
    toolCalls.map((call, index) => parseCall(call, index, role, written[index], place)),
  )
  const usage = usageOf(message.usage)
  const said = defined({ usage, costUsd: optionalNumber(message.cost), ...timeOf(message) })
  const finishReason = textAt(message.raw_data, 'finish_reason')
  const responseModel = textAt(message.raw_data, 'model')
  const reasoning =
    role === 'assistant' && typeof message.reasoning === 'string' ? message.reasoning : undefined
  builder.add({
    ...(role === 'user'
      ? { kind: role }
      : { kind: role, ...defined({ finishReason, reasoning, responseModel }) }),
    ...{ content, calls, ...said },
    origin: originOf(message, {
      ...{ role, content, ...defined({ reasoning }) },
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      // Usage with other fields says more than ours does, so it is kept as it is.
      ...(usage && String(Object.keys(message.usage as Fields)) === USAGE_KEYS ? { usage } : {}),
      ...defined({ cost: said.costUsd, timestamp: said.timestamp }),
    }),
  })
}

function parseCall(
  call: unknown,
  index: number,
  role: 'assistant' | 'user',
  written: string | undefined,
  place: RecordingPlace,
): Omit<RecordedCall, 'index'> {
  const what = `tool_calls[${index}]`
  if (!isRecord(call))
    throw new RecordingError(place, `expected \`${what}\` to be a call, got ${describeValue(call)}.`)
  const id = expectString(call.id, `\`${what}.id\``, place)
  const name = expectString(call.name, `\`${what}.name\``, place)
  if (!isRecord(call.arguments)) {
    throw new RecordingError(
      place,
      `expected \`${what}.arguments\` to be an object, got ${describeValue(call.arguments)}.`,
    )
  }
  const madeBy = call.requestor === 'user' || call.requestor === 'assistant' ? call.requestor : role
  const sameAsWritten = written !== undefined && isDeepStrictEqual(jsonIn(written), call.arguments)
  return {
    ...{ id, name, args: call.arguments, madeBy },
    argumentsText: sameAsWritten ? written : JSON.stringify(call.arguments),
    origin: originOf(call, { id, name, arguments: call.arguments, requestor: madeBy }),
  }
}

/** What the model wrote, byte for byte: only the raw answer beside the message has it. */
function writtenArguments(rawData: unknown): (string | undefined)[] {
  const message = isRecord(rawData) ? rawData.message : undefined
  const calls = isRecord(message) && Array.isArray(message.tool_calls) ? message.tool_calls : []
  return calls.map((call) => textAt(call, 'function', 'arguments'))
}

function addToolResult(builder: RunBuilder, message: Fields, place: RecordingPlace): void {
  const id = expectString(message.id, '`id`', place)
  const content = expectString(message.content, '`content`', place)
  builder.addResult(id, place, (call) => {
    const madeBy =
      message.requestor === 'user' || message.requestor === 'assistant' ? message.requestor : call.madeBy
    const isError = message.error === true
    const time = timeOf(message)
    return {
      ...{ name: call.name, madeBy, content, isError, ...time },
      origin: originOf(message, {
        ...{ role: 'tool', id, content, requestor: madeBy },
        ...(message.error === isError ? { error: isError } : {}),
        ...defined(time),
      }),
    }
  })
}

function timeOf({ timestamp }: Fields): { timestamp?: string; timestampMs?: number } {
  return typeof timestamp === 'string' ? defined({ timestamp, timestampMs: toEpochMs(timestamp) }) : {}
}

const USAGE_KEYS = 'completion_tokens,prompt_tokens'

function usageOf(usage: unknown): RecordedUsage | undefined {
  if (!isRecord(usage)) return undefined
  const inputTokens = optionalNumber(usage.prompt_tokens)
  const outputTokens = optionalNumber(usage.completion_tokens)
  return inputTokens === undefined || outputTokens === undefined ? undefined : { inputTokens, outputTokens }
}

/** The message as it was recorded. */
export function restoreTau2Message(item: RecordedItem): unknown {
  if (item.kind === 'system' || item.kind === 'code')
    throw new TypeError(`tau2-bench has no ${item.kind} messages.`)
  const { origin, content, timestamp } = item
  if (item.kind === 'toolResult') {
    const { toolCallId: id, madeBy: requestor, isError: error } = item
    return rebuild(origin, { role: 'tool', id, content, requestor, error, timestamp })
  }
  const { inputTokens, outputTokens } = item.usage ?? {}
  const reasoning = item.kind === 'assistant' ? item.reasoning : undefined
  return rebuild(origin, {
    ...{ role: item.kind, content, reasoning, timestamp, cost: item.costUsd },
    usage: { completion_tokens: outputTokens, prompt_tokens: inputTokens },
    tool_calls: item.calls.map(({ id, name, args, madeBy, origin: callOrigin }) =>
      rebuild(callOrigin, { id, name, arguments: args, requestor: madeBy }),
    ),
  })
}
