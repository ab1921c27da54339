import { describe, expect, it } from 'vitest'
import { AnyCollector, readReply } from './formats.ts'
import { costInHeaders, tellsCost } from './told-cost.ts'

const TOKENS = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
const chat = (usage: object) => ({ object: 'chat.completion', choices, usage: { ...TOKENS, ...usage } })
const response = (usage: object, output: object[] = []) => ({
  object: 'response',
  status: 'completed',
  output,
  usage: { input_tokens: 10, output_tokens: 5, ...usage },
})
const modelReply = (more: object, raw?: object) => ({
  content: [{ type: 'text', text: 'hi' }],
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 }, raw },
  ...more,
})
const metadata = (providerMetadata: object) => modelReply({ providerMetadata })

/** As recorded, or as the provider's documentation shows it. */
const TOLD: readonly (readonly [string, object, number | undefined])[] = [
  [
    'OpenRouter',
    chat({ cost: 0.004756, is_byok: false, cost_details: { upstream_inference_cost: 0.004756 } }),
    0.004756,
  ],
  ['OpenRouter, a free model', chat({ cost: 0, is_byok: false }), 0],
  [
    'OpenRouter, with a key of the user',
    chat({ cost: 0.05, is_byok: true, cost_details: { upstream_inference_cost: 1 } }),
    1.05,
  ],
  [
    'OpenRouter, with a key of the user and the provider silent',
    chat({ cost: 0.05, is_byok: true, cost_details: { upstream_inference_cost: null } }),
    undefined,
  ],
  [
    "OpenRouter, as it once said that the key is the user's",
    chat({ cost: 0.95, cost_details: { upstream_inference_cost: 19 } }),
    19.95,
  ],
  [
    'OpenRouter, at a discount',
    chat({ cost: 0.9, is_byok: false, cost_details: { upstream_inference_cost: 1 } }),
    0.9,
  ],
  [
    'OpenRouter, by the Responses API',
    response({ cost: 0.0012, is_byok: false, cost_details: { upstream_inference_cost: null } }),
    0.0012,
  ],
  [
    'OpenRouter, by the Messages API',
    { type: 'message', content: [], usage: { input_tokens: 1, cost: 2 } },
    2,
  ],
  ['Vercel AI Gateway', chat({ cost: 7.71e-6, is_byok: false, market_cost: 7.71e-6 }), 7.71e-6],
  ['Vercel AI Gateway, with a key of the user', chat({ cost: 0, is_byok: true, market_cost: 0.25 }), 0.25],
  ['xAI', chat({ cost_in_usd_ticks: 37_756_000 }), 0.0037756],
  ['xAI, by the Responses API', response({ cost_in_usd_ticks: 400_000_000 }), 0.04],
  [
    'xAI, a response that ran a tool',
    response({ cost_in_usd_ticks: 318_319_000 }, [
      { type: 'web_search_call', id: 'w', status: 'completed', action: { type: 'search', query: 'q' } },
    ]),
    0.0318319,
  ],
  [
    'Perplexity',
    chat({
      cost: { input_tokens_cost: 0, output_tokens_cost: 0.001, request_cost: 0.014, total_cost: 0.015 },
    }),
    0.015,
  ],
  ['Perplexity, its agents', response({ cost: { currency: 'USD', total_cost: 0.0174 } }), 0.0174],
  ['in another currency', response({ cost: { currency: 'EUR', total_cost: 0.0174 } }), undefined],
  ['LiteLLM, of a model that it knows no price of', response({ cost: null }), undefined],
  ['what is no amount', chat({ cost: -1 }), undefined],
  ['what is no amount either', chat({ cost: 'free' }), undefined],
  ['OpenAI', chat({}), undefined],
  ['the AI SDK, with the tokens of the provider', modelReply({}, { ...TOKENS, cost: 0.5 }), 0.5],
  ['the AI SDK, with the ticks of xAI', modelReply({}, { cost_in_usd_ticks: 1e10 }), 1],
  [
    'the AI SDK by the gateway',
    metadata({ gateway: { cost: '0.0045405', marketCost: '0.0045405' } }),
    0.0045405,
  ],
  [
    'the AI SDK by the gateway, with a key of the user',
    metadata({ gateway: { cost: '0', marketCost: '0.25' } }),
    0.25,
  ],
  ['the AI SDK by the gateway, for nothing', metadata({ gateway: { cost: '0' } }), 0],
  ['the AI SDK by OpenRouter', metadata({ openrouter: { usage: { cost: 0.002 } } }), 0.002],
  [
    'the AI SDK by OpenRouter, with a key of the user',
    metadata({ openrouter: { usage: { cost: 0.05, costDetails: { upstreamInferenceCost: 1 } } } }),
    1.05,
  ],
  [
    'the AI SDK by a provider that leaves the cost out of its tokens',
    modelReply({ response: { body: chat({ cost: 0.5 }) } }, TOKENS),
    0.5,
  ],
  ['the AI SDK by xAI', metadata({ xai: { costInUsdTicks: 2e10 } }), 2],
  ['the AI SDK by Perplexity', metadata({ perplexity: { cost: { totalCost: 0.015 } } }), 0.015],
  [
    'the AI SDK by the proxy of LiteLLM',
    modelReply({ response: { headers: { 'x-litellm-response-cost': '1.35e-05' } } }),
    1.35e-5,
  ],
]

describe('what a reply says that it cost', () => {
  it.each(TOLD)('%s', (_who, reply, costUsd) => {
    expect(readReply(reply).reportedCostUsd).toBe(costUsd)
  })

  it('is read of a stream', () => {
    const read = (chunks: readonly object[]) => {
      const collector = new AnyCollector()
      for (const chunk of chunks) collector.push(chunk)
      return collector.read().reportedCostUsd
    }
    const delta = { choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] }
    expect(read([delta, { choices: [], usage: { ...TOKENS, cost: 3.6e-6 } }])).toBe(3.6e-6)
    // xAI counts in each chunk what has come until then.
    const counting = [1e9, 2e9].map((ticks) => ({ ...delta, usage: { ...TOKENS, cost_in_usd_ticks: ticks } }))
    expect(read(counting)).toBe(0.2)
    expect(read([{ type: 'response.completed', response: response({ cost: 0.0012 }) }])).toBe(0.0012)
    const finish = { type: 'finish', finishReason: 'stop', usage: {} }
    expect(
      read([{ type: 'stream-start' }, { ...finish, providerMetadata: { gateway: { cost: '0.5' } } }]),
    ).toBe(0.5)
  })

  it('is read of the head of a response', () => {
    expect(costInHeaders(new Headers({ 'x-litellm-response-cost': '0.000768' }))).toBe(0.000768)
    for (const none of [new Headers(), new Headers({ 'x-litellm-response-cost': 'None' }), null, {}])
      expect(costInHeaders(none)).toBeUndefined()
  })
})

it('takes thoughts for output where they are in the total alone, as xAI counts them', () => {
  const counts = (completion_tokens: number, reasoning_tokens: number) =>
    readReply(chat({ completion_tokens, completion_tokens_details: { reasoning_tokens }, total_tokens: 104 }))
      .usage
  const usage = { inputTokens: 10, outputTokens: 94, reasoningTokens: 90 }
  expect(counts(4, 90)).toEqual(usage)
  expect(counts(94, 90)).toEqual(usage)
  expect(counts(4, 0)).toEqual({ inputTokens: 10, outputTokens: 4, reasoningTokens: 0 })
  const counted = { inputTokens: { total: 10 }, outputTokens: { total: 4, reasoning: 90 } }
  expect(readReply(modelReply({ usage: { ...counted, raw: { total_tokens: 104 } } })).usage).toEqual(usage)
})

it('is expected of those who always say it', () => {
  expect(['openrouter', 'x_ai', 'openai'].map(tellsCost)).toEqual([true, true, false])
})
