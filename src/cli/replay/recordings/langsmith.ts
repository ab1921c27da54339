import { jsonIn } from '../../../internal/json.ts'
import { defined, isRecord } from '../../../internal/objects.ts'
import { type Message, messagesOf } from '../../../viewer/model/messages.ts'
import type { AttributeValue } from '../../../viewer/model/span.ts'
import { type Fields, optionalNumber, textAt, toEpochMs } from './fields.ts'
import { answersOf, fieldsOf, isLangChainMessage, plainMessages } from './langchain-messages.ts'
import { type OnBad, parseEach } from './parse-each.ts'
import type { TracedCall } from './traced-call.ts'
import { byTrace, runOfTrace } from './traced-run.ts'
import type { RecordedRun, RecordedUsage } from './types.ts'

export function isLangSmithRun(value: unknown): value is Fields {
  return isRecord(value) && typeof value.run_type === 'string' && typeof value.id === 'string'
}

/**
 * LangSmith's runs: `{ runs: [run, …] }` (`/runs/query`), a list, or one a line (bulk export); with `child_runs` inside each
 * other, or not. Each trace is a run of ours.
 */
export function parseLangSmith(value: unknown, source: string, onBad?: OnBad): RecordedRun[] {
  const spans = runsIn(value)
  const unique = [...new Map(spans.map((span) => [span.id, span])).values()]
  return parseEach(byTrace(unique.map(tracedCallOf)), onBad, (calls, run) =>
    runOfTrace(calls, { source, run }, 'langsmith'),
  )
}

function runsIn(value: unknown, parent?: Fields): Fields[] {
  if (Array.isArray(value)) return value.flatMap((run) => runsIn(run, parent))
  if (!isLangSmithRun(value)) return isRecord(value) ? runsIn(value.runs ?? []) : []
  const run: Fields = {
    ...value,
    parent_run_id: value.parent_run_id ?? parent?.id,
    trace_id: value.trace_id ?? parent?.trace_id ?? value.id,
  }
  return [run, ...runsIn(value.child_runs ?? [], run)]
}

function tracedCallOf(run: Fields): TracedCall {
  const { run_type: type, parent_run_id: parent, error } = run
  const kind = type === 'llm' || type === 'tool' ? type : parent ? 'other' : 'agent'
  const name = typeof run.name === 'string' ? run.name : String(type)
  return {
    ...{ traceId: String(run.trace_id), id: String(run.id), name, kind },
    parentId: typeof parent === 'string' && parent ? parent : undefined,
    startMs: timeOf(run.start_time),
    endMs: timeOf(run.end_time),
    ...defined({
      error: typeof error === 'string' && error !== '' ? error : undefined,
      sessionId: threadOf(run.extra),
      model: kind === 'llm' ? modelOf(run) : undefined,
      tool: kind === 'tool' ? toolOf(run, name) : undefined,
    }),
  }
}

function timeOf(time: unknown): number | undefined {
  return optionalNumber(time) ?? toEpochMs(time)
}

/** Under one of these names LangSmith takes runs for those of one thread. */
function threadOf(extra: unknown): string | undefined {
  for (const name of ['session_id', 'conversation_id', 'thread_id']) {
    const id = textAt(extra, 'metadata', name)
    if (id !== undefined) return id
  }
  return undefined
}

function modelOf(run: Fields): TracedCall['model'] {
  const { inputs, outputs, extra } = run
  const answers = answersOf(outputs)
  const [answer] = answers
  const params = isRecord(extra) ? extra.invocation_params : undefined
  return {
    input: saidIn(inputs, 'user'),
    output: messagesOf(plainMessages(answers) as AttributeValue, 'assistant'),
    ...defined({
      requestModel:
        textAt(params, 'model') ?? textAt(params, 'model_name') ?? textAt(extra, 'metadata', 'ls_model_name'),
      responseModel:
        textAt(outputs, 'llm_output', 'model_name') ??
        textAt(outputs, 'model') ??
        textAt(fieldsOf(answer), 'response_metadata', 'model_name'),
      finishReason: finishReasonOf(outputs) ?? textAt(fieldsOf(answer), 'response_metadata', 'finish_reason'),
      usage: usageOf(run, fieldsOf(answer)),
      costUsd: numberOf(run.total_cost),
    }),
  }
}

function saidIn(inputs: unknown, role: string): Message[] {
  if (!isRecord(inputs)) return []
  const messages = inputs.messages ?? inputs.input ?? inputs.prompts ?? inputs.prompt ?? inputs
  // LangChain sends lists of conversations, of which a chat model is given one.
  const list = Array.isArray(messages) && Array.isArray(messages[0]) ? messages[0] : messages
  if (typeof list !== 'string' && !Array.isArray(list) && !isLangChainMessage(list)) return []
  return messagesOf(plainMessages(list) as AttributeValue, role)
}

function finishReasonOf(outputs: unknown): string | undefined {
  if (!isRecord(outputs)) return undefined
  const [generation] = Array.isArray(outputs.generations) ? outputs.generations.flat() : []
  const [choice] = Array.isArray(outputs.choices) ? outputs.choices : []
  return textAt(generation, 'generation_info', 'finish_reason') ?? textAt(choice, 'finish_reason')
}

function usageOf(run: Fields, answer: unknown): RecordedUsage | undefined {
  const told = isRecord(answer) && isRecord(answer.usage_metadata) ? answer.usage_metadata : undefined
  const own =
    isRecord(run.outputs) && isRecord(run.outputs.usage_metadata) ? run.outputs.usage_metadata : told
  const inputTokens = numberOf(run.prompt_tokens) ?? numberOf(own?.input_tokens)
  const outputTokens = numberOf(run.completion_tokens) ?? numberOf(own?.output_tokens)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  if (inputTokens + outputTokens === 0) return undefined
  const details = (name: string, key: string) => {
    const counts = own?.[name]
    return isRecord(counts) ? optionalNumber(counts[key]) : undefined
  }
  return {
    ...{ inputTokens, outputTokens },
    ...defined({
      cachedInputTokens: details('input_token_details', 'cache_read'),
      reasoningTokens: details('output_token_details', 'reasoning'),
    }),
  }
}

/** Money is a number, or one as text. */
function numberOf(value: unknown): number | undefined {
  return optionalNumber(typeof value === 'string' && value !== '' ? Number(value) : value)
}

function toolOf({ inputs, outputs }: Fields, name: string): TracedCall['tool'] {
  const answer = isRecord(outputs) && 'output' in outputs ? outputs.output : outputs
  const fields = fieldsOf(answer)
  const id = textAt(fields, 'tool_call_id')
  const content = isRecord(fields) && id !== undefined ? fields.content : answer
  return { name, args: argumentsOf(inputs), result: content ?? undefined, ...defined({ id }) }
}

/** LangChain gives what the tool was called with as a text, of Python or of JSON. */
function argumentsOf(inputs: unknown): unknown {
  if (!isRecord(inputs)) return inputs ?? {}
  if (Object.keys(inputs).length > 1 || typeof inputs.input !== 'string') return inputs
  const args = jsonIn(inputs.input)
  return isRecord(args) ? args : inputs
}
