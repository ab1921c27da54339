/**
 * One run, as each backend exports it: a question, a tool with its result, an answer. Made up, in the shapes that these
 * document (looked at on 2026-11-22):
 * - LangSmith: docs.langchain.com/langsmith/run-data-format, and the messages of @langchain/core's `toJSON`
 * - Langfuse: langfuse.com/faq/all/export-single-trace-or-session, and the table's export to JSON lines
 * - Phoenix: `Span` of its OpenAPI document, `/v1/projects/{project}/spans`; arize-ai.github.io/openinference for attributes
 */

const SYSTEM = 'Be brief.'
const QUESTION = 'weather in Berlin?'
const RESULT = '{"tempC":7}'
const ANSWER = 'It is 7 °C.'
const ARGS = { city: 'Berlin' }

const at = (ms: number) => new Date(Date.UTC(2026, 10, 22, 12, 0, 0, ms)).toISOString()

const lc = (name: string, kwargs: object) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', name],
  kwargs,
})
const lcAsked = [lc('SystemMessage', { content: SYSTEM }), lc('HumanMessage', { content: QUESTION })]
const lcCall = lc('AIMessage', {
  content: '',
  tool_calls: [{ id: 'call_1', name: 'get_weather', args: ARGS, type: 'tool_call' }],
  usage_metadata: { input_tokens: 20, output_tokens: 5, input_token_details: { cache_read: 4 } },
  response_metadata: { model_name: 'gpt-4o-2024-08-06', finish_reason: 'tool_calls' },
})
const lcResult = lc('ToolMessage', { content: RESULT, tool_call_id: 'call_1' })

const lsRun = (id: string, parent: string | null, run: object) => ({
  ...{ id, trace_id: 'ls-trace', parent_run_id: parent, error: null, tags: [] },
  ...run,
})
const lsModel = { metadata: { ls_model_name: 'gpt-4o', thread_id: 'thread-1' } }

export const langSmithRuns = [
  lsRun('ls-trace', null, {
    ...{ name: 'support', run_type: 'chain', start_time: at(0), end_time: at(90) },
    inputs: { messages: [{ role: 'user', content: QUESTION }] },
    outputs: { output: ANSWER },
    extra: { metadata: { thread_id: 'thread-1' } },
  }),
  lsRun('ls-1', 'ls-trace', {
    ...{ name: 'ChatOpenAI', run_type: 'llm', start_time: at(10), end_time: at(30), extra: lsModel },
    inputs: { messages: [lcAsked] },
    outputs: {
      generations: [[{ text: '', message: lcCall, generation_info: { finish_reason: 'tool_calls' } }]],
      llm_output: { model_name: 'gpt-4o-2024-08-06' },
    },
    ...{ prompt_tokens: 20, completion_tokens: 5, total_cost: '0.0001' },
  }),
  lsRun('ls-2', 'ls-trace', {
    ...{ name: 'get_weather', run_type: 'tool', start_time: at(40), end_time: at(50) },
    inputs: { input: JSON.stringify(ARGS) },
    outputs: { output: lcResult },
  }),
  lsRun('ls-3', 'ls-trace', {
    ...{ name: 'ChatOpenAI', run_type: 'llm', start_time: at(60), end_time: at(80), extra: lsModel },
    inputs: { messages: [[...lcAsked, lcCall, lcResult]] },
    outputs: {
      generations: [[{ text: ANSWER, message: lc('AIMessage', { content: ANSWER }) }]],
      llm_output: { model_name: 'gpt-4o-2024-08-06' },
    },
    ...{ prompt_tokens: 40, completion_tokens: 6, total_cost: '0.0002' },
  }),
]

const asked = [
  { role: 'system', content: SYSTEM },
  { role: 'user', content: QUESTION },
]
const call = {
  role: 'assistant',
  content: null,
  tool_calls: [
    { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: JSON.stringify(ARGS) } },
  ],
}
const result = { role: 'tool', tool_call_id: 'call_1', content: RESULT }

const observation = (id: string, type: string, start: number, end: number, fields: object) => ({
  ...{ id, traceId: 'lf-trace', type, startTime: at(start), endTime: at(end), level: 'DEFAULT' },
  ...{ statusMessage: null, parentObservationId: 'lf-0', metadata: {} },
  ...fields,
})
const generation = { name: 'chat', model: 'gpt-4o-2024-08-06' }
export const langfuseObservations = [
  observation('lf-0', 'AGENT', 0, 90, {
    name: 'support',
    parentObservationId: null,
    input: QUESTION,
    output: ANSWER,
  }),
  observation('lf-1', 'GENERATION', 10, 30, {
    ...{ ...generation, input: asked, output: call },
    // Cached tokens are counted beside the input.
    usageDetails: { input: 16, input_cached_tokens: 4, output: 5, total: 25 },
    costDetails: { input: 0.00005, output: 0.00005, total: 0.0001 },
  }),
  observation('lf-2', 'TOOL', 40, 50, { name: 'get_weather', input: ARGS, output: { tempC: 7 } }),
  observation('lf-3', 'GENERATION', 60, 80, {
    ...{ ...generation, input: [...asked, call, result], output: { role: 'assistant', content: ANSWER } },
    usageDetails: { input: 40, output: 6, total: 46 },
    costDetails: { total: 0.0002 },
  }),
]

/** As the table's export writes it: values that are JSON are texts, numbers too, and times have no zone. */
export const langfuseLines = langfuseObservations
  .map((row) => {
    const { input, output, usageDetails, startTime, endTime, model, ...rest } = row as typeof row &
      Record<string, unknown>
    const plain = (time: string) => time.replace('T', ' ').replace('Z', '000')
    return JSON.stringify({
      ...{ ...rest, sessionId: '', providedModelName: model ?? '', totalCost: 0 },
      ...{ startTime: plain(startTime), endTime: plain(endTime) },
      ...{ input: JSON.stringify(input), output: JSON.stringify(output) },
      usageDetails: Object.fromEntries(
        Object.entries((usageDetails ?? {}) as object).map(([name, count]) => [name, String(count)]),
      ),
    })
  })
  .join('\n')

const message = (prefix: string, index: number, fields: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [`llm.${prefix}_messages.${index}.message.${name}`, value]),
  )
const phoenixSpan = (
  id: string,
  kind: string,
  start: number,
  end: number,
  name: string,
  attributes: object,
) => ({
  id: `global-${id}`,
  ...{ name, context: { trace_id: 'a'.repeat(32), span_id: id }, span_kind: kind },
  ...{ parent_id: id === 'ph-0' ? null : 'ph-0', start_time: at(start), end_time: at(end) },
  ...{ status_code: 'OK', status_message: '', events: [], attributes },
})
const toolCall = {
  'tool_calls.0.tool_call.id': 'call_1',
  'tool_calls.0.tool_call.function.name': 'get_weather',
  'tool_calls.0.tool_call.function.arguments': JSON.stringify(ARGS),
}
const askedHere = {
  ...message('input', 0, { role: 'system', content: SYSTEM }),
  ...message('input', 1, { role: 'user', content: QUESTION }),
}
export const phoenixSpans = [
  phoenixSpan('ph-0', 'AGENT', 0, 90, 'support', { 'input.value': QUESTION, 'output.value': ANSWER }),
  phoenixSpan('ph-1', 'LLM', 10, 30, 'ChatCompletion', {
    ...{
      'llm.model_name': 'gpt-4o-2024-08-06',
      'llm.token_count.prompt': 20,
      'llm.token_count.completion': 5,
    },
    ...{ 'llm.token_count.prompt_details.cache_read': 4, 'llm.cost.total': 0.0001 },
    ...askedHere,
    ...message('output', 0, { role: 'assistant', ...toolCall }),
  }),
  phoenixSpan('ph-2', 'TOOL', 40, 50, 'get_weather', {
    ...{ 'tool.name': 'get_weather', 'input.value': JSON.stringify(ARGS), 'output.value': RESULT },
  }),
  phoenixSpan('ph-3', 'LLM', 60, 80, 'ChatCompletion', {
    ...{
      'llm.model_name': 'gpt-4o-2024-08-06',
      'llm.token_count.prompt': 40,
      'llm.token_count.completion': 6,
    },
    'llm.cost.total': 0.0002,
    ...askedHere,
    ...message('input', 2, { role: 'assistant', ...toolCall }),
    ...message('input', 3, { role: 'tool', content: RESULT, tool_call_id: 'call_1' }),
    ...message('output', 0, { role: 'assistant', content: ANSWER }),
  }),
]

/** As a table of spans is written to JSON: a column for each part. */
export const phoenixRows = phoenixSpans.map(({ context, attributes, start_time, end_time, ...rest }) => ({
  ...rest,
  ...{ 'context.trace_id': context.trace_id, 'context.span_id': context.span_id },
  ...{ start_time: Date.parse(start_time), end_time: Date.parse(end_time) },
  ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`attributes.${name}`, value])),
}))

/** What each of them says. */
export const EXPORTED = { SYSTEM, QUESTION, RESULT, ANSWER, ARGS }
