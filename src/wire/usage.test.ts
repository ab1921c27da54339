import { expect, it } from 'vitest'
import { AnyCollector, readReply } from './formats.ts'

const turn = { input_tokens: 20, output_tokens: 5, cache_read_input_tokens: 0 }
const COMPACTED = {
  ...turn,
  iterations: [
    { type: 'compaction', input_tokens: 10, output_tokens: 30, cache_creation_input_tokens: 5_000 },
    { type: 'advisor_message', model: 'claude-opus', input_tokens: 400, output_tokens: 70 },
    { type: 'message', ...turn },
  ],
}
const COUNTED = {
  inputTokens: 5_430,
  outputTokens: 105,
  cachedInputTokens: 0,
  cacheCreationInputTokens: 5_000,
}

const message = (usage: object) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi.' }],
  usage,
})

function streamed(first: object, last: object) {
  const collector = new AnyCollector()
  for (const event of [
    { type: 'message_start', message: { ...message(first), content: [] } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: last },
    { type: 'message_stop' },
  ]) {
    collector.push(event)
  }
  return collector.read().usage
}

const modelReply = (usage: object, more?: object) => ({
  content: [{ type: 'text', text: 'Hi.' }],
  finishReason: { unified: 'stop', raw: 'stop' },
  usage,
  warnings: [],
  ...more,
})

it("counts what Anthropic's API spends beside its totals: on a compaction, and on a model that advises", () => {
  expect(readReply(message(COMPACTED)).usage).toEqual(COUNTED)
  expect(streamed(turn, COMPACTED)).toEqual(COUNTED)
})

it('counts it of the models of the AI SDK, whose packages count a part of it', () => {
  const counts = { inputTokens: { total: 30 }, outputTokens: { total: 35 } }
  expect(readReply(modelReply({ ...counts, raw: COMPACTED })).usage).toEqual(COUNTED)
  const about = { providerMetadata: { anthropic: { usage: COMPACTED } } }
  expect(readReply(modelReply({ inputTokens: 20, outputTokens: 5 }, about)).usage).toEqual(COUNTED)
})

const KEPT = { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 4_000 }
const WRITTEN = { ...turn, cache_creation_input_tokens: 5_000, cache_creation: KEPT }
const FOR_AN_HOUR = {
  inputTokens: 5_020,
  outputTokens: 5,
  cachedInputTokens: 0,
  cacheCreationInputTokens: 5_000,
  cacheCreation1hInputTokens: 4_000,
}

it("tells apart what is kept for an hour, by Anthropic's API and of a stream, whose end does not repeat it", () => {
  expect(readReply(message(WRITTEN)).usage).toEqual(FOR_AN_HOUR)
  const { cache_creation: _, ...last } = WRITTEN
  expect(streamed(WRITTEN, last)).toEqual(FOR_AN_HOUR)
})

it("tells it of the models of the AI SDK: Anthropic's, and Bedrock's", () => {
  const counts = {
    inputTokens: { total: 5_020, cacheRead: 0, cacheWrite: 5_000 },
    outputTokens: { total: 5 },
  }
  const cacheDetails = [
    { inputTokens: 1_000, ttl: '5m' },
    { inputTokens: 4_000, ttl: '1h' },
  ]
  const bedrock = { inputTokens: 20, outputTokens: 5, cacheWriteInputTokens: 5_000, cacheDetails }
  expect(readReply(modelReply({ ...counts, raw: WRITTEN })).usage).toEqual(FOR_AN_HOUR)
  expect(readReply(modelReply({ ...counts, raw: bedrock })).usage).toEqual(FOR_AN_HOUR)
})

it('keeps what a stream counted first where its end says null', () => {
  const last = { input_tokens: null, cache_read_input_tokens: null, output_tokens: 9 }
  expect(streamed({ ...turn, cache_read_input_tokens: 100 }, last)).toEqual({
    inputTokens: 120,
    outputTokens: 9,
    cachedInputTokens: 100,
  })
})

it('takes for thoughts what Gemini, asked as OpenAI is, has in the total alone', () => {
  const usage = { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 }
  const chat = (model: string) => ({
    object: 'chat.completion',
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
    usage,
  })
  const thought = { inputTokens: 35, outputTokens: 74, reasoningTokens: 62 }
  expect(readReply(chat('gemini-2.5-pro')).usage).toEqual(thought)
  expect(readReply(chat('models/gemini-2.5-pro')).usage).toEqual(thought)
  expect(readReply(chat('some-model')).usage).toEqual({ inputTokens: 35, outputTokens: 12 })
  const counts = { inputTokens: { total: 35 }, outputTokens: { total: 12, reasoning: 0 }, raw: usage }
  const response = { modelId: 'gemini-2.5-pro' }
  expect(readReply(modelReply(counts, { response })).usage).toEqual(thought)
})

it("reads what was written to a cache of the provider's own counts, where the AI SDK's package leaves it out", () => {
  const raw = { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 } }
  const counts = { inputTokens: { total: 100, cacheRead: 30 }, outputTokens: { total: 5 }, raw }
  expect(readReply(modelReply(counts)).usage).toEqual({
    inputTokens: 100,
    outputTokens: 5,
    cachedInputTokens: 30,
    cacheCreationInputTokens: 20,
  })
})
