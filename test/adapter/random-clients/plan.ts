import fc from 'fast-check'

/** What the model says, in words of which each begins with `sek`: none of them may be seen where a gate withheld it. */
export interface Said {
  readonly texts: readonly string[]
  readonly calls: readonly { readonly name: string; readonly pieces: readonly string[] }[]
  readonly reasoning: readonly string[]
  readonly refusal: boolean
  readonly logprobs: boolean
  readonly usage: boolean
  readonly choices: 1 | 2
  readonly finish: 'stop' | 'length' | 'content_filter'
}

/** How its events are put into bytes. */
export interface Framing {
  readonly crlf: boolean
  readonly comments: boolean
  readonly unknown: boolean
  /** Where the bytes are cut, in thousandths of them. */
  readonly cuts: readonly number[]
}

export type Fault = 'none' | 'cut' | 'error' | 'nonsense' | 'stalls' | 'empty' | 'unfinished'
export type Before = 429 | 500 | 503 | 400 | 401 | 'reset' | 'silent'

export const APIS = [
  'chat',
  'completions',
  'responses',
  'messages',
  'beta',
  'google',
  'interactions',
] as const
export type Api = (typeof APIS)[number]

export const WAYS = [
  'create',
  'withResponse',
  'asResponse',
  'parse',
  'helper',
  'readable helper',
  'tools',
] as const
export type Way = (typeof WAYS)[number]

export const READERS = [
  'all',
  'breaks',
  'aborts',
  'tees',
  'readable',
  'cancels',
  'twice',
  'next',
  'never',
] as const
export type Reader = (typeof READERS)[number]

export type AbortAt = 'never' | 'before' | 'called' | 'later' | 'request' | 'pull'

export interface CallPlan {
  readonly api: Api
  readonly way: Way
  readonly stream: boolean
  readonly reader: Reader
  /** Of the reader: after how many chunks it does so. */
  readonly count: number
  readonly before: readonly Before[]
  readonly maxRetries: number
  readonly timeout: boolean
  readonly said: Said
  readonly framing: Framing
  readonly fault: Fault
  /** After which part of its events, in tenths. */
  readonly faultAt: number
  readonly abort: AbortAt
  readonly abortPull: number
  readonly reason: boolean
}

export interface Plan {
  readonly calls: readonly CallPlan[]
  readonly commonJs: boolean
  readonly major: 6 | 7
  readonly place: 'none' | 'run' | 'step'
  /** The run is aborted by the same signal as its call. */
  readonly signalled: boolean
  readonly derived: boolean
}

const word = fc
  .tuple(fc.nat(99), fc.constantFrom('', ' ', 'é', '🙂', '漢字 ', '\n', '"', '\\', '\u2028'))
  .map(([n, end]) => `sek${n}${end}`)

const args = fc.tuple(word, fc.array(fc.nat(30), { maxLength: 3 })).map(([q, cuts]) =>
  split(
    JSON.stringify({ q }),
    [...cuts].sort((a, b) => a - b),
  ),
)

const said: fc.Arbitrary<Said> = fc.record({
  texts: fc.array(word, { maxLength: 5 }),
  calls: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.record({ name: fc.constantFrom('look', 'other'), pieces: args }), {
        maxLength: 2,
      }),
    },
  ),
  reasoning: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(word, { maxLength: 3 }) },
  ),
  refusal: fc.nat(9).map((n) => n === 9),
  logprobs: fc.nat(5).map((n) => n === 5),
  usage: fc.boolean(),
  choices: fc.nat(5).map((n) => (n === 5 ? 2 : 1)),
  finish: fc.constantFrom('stop', 'stop', 'stop', 'stop', 'length', 'content_filter'),
})

const framing: fc.Arbitrary<Framing> = fc.record({
  crlf: fc.boolean(),
  comments: fc.boolean(),
  unknown: fc.nat(4).map((n) => n === 4),
  cuts: fc.array(fc.nat(999), { maxLength: 12 }),
})

const mostly = <T, U>(usual: T, ...others: U[]): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })

const call: fc.Arbitrary<CallPlan> = fc.record({
  api: fc.constantFrom(...APIS),
  way: mostly<Way, Way>('create', ...WAYS),
  stream: fc.oneof({ weight: 2, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  reader: mostly<Reader, Reader>('all', ...READERS),
  count: fc.integer({ min: 1, max: 6 }),
  before: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(mostly<Before, Before>(429, 500, 503, 400, 401, 'reset', 'silent'), {
        maxLength: 2,
      }),
    },
  ),
  maxRetries: fc.nat(2),
  timeout: fc.nat(3).map((n) => n === 3),
  said,
  framing,
  fault: mostly<Fault, Fault>('none', 'cut', 'error', 'nonsense', 'stalls', 'empty', 'unfinished'),
  faultAt: fc.nat(10),
  abort: fc.oneof(
    { weight: 4, arbitrary: fc.constant<AbortAt>('never') },
    { weight: 1, arbitrary: fc.constantFrom<AbortAt>('before', 'called', 'later', 'request', 'pull') },
  ),
  abortPull: fc.nat(4),
  reason: fc.boolean(),
})

export const plan: fc.Arbitrary<Plan> = fc
  .record({
    calls: fc.oneof(
      { weight: 4, arbitrary: call.map((one) => [one]) },
      { weight: 1, arbitrary: fc.array(call, { minLength: 2, maxLength: 3 }) },
    ),
    commonJs: fc.boolean(),
    major: fc.constantFrom(7, 7, 6),
    place: fc.constantFrom('none', 'run', 'step'),
    signalled: fc.boolean(),
    derived: fc.nat(3).map((n) => n === 3),
  })
  .map((asked) => ({ ...asked, calls: asked.calls.map((one) => possible(one, asked.major)) }))

/** What the client can do, and what ends. */
function possible(asked: CallPlan, major: Plan['major']): CallPlan {
  const plan = { ...asked } as { -readonly [K in keyof CallPlan]: CallPlan[K] }
  if (plan.api === 'interactions' || (plan.api === 'google' && plan.way !== 'tools')) plan.way = 'create'
  if (plan.api === 'completions' && !['withResponse', 'asResponse'].includes(plan.way)) plan.way = 'create'
  if (plan.api === 'messages' && plan.way === 'tools') plan.way = 'helper'
  if (plan.api === 'responses' && plan.way === 'tools') plan.way = 'helper'
  if (plan.way === 'helper' || plan.way === 'readable helper') plan.stream = true
  if (plan.way === 'parse') plan.stream = false
  if (!plan.stream || plan.way === 'tools') plan.reader = 'all'
  if (plan.reader === 'aborts' || plan.reader === 'never' || plan.reader === 'breaks') plan.fault = 'none'
  if (plan.reader !== 'all') plan.abort = 'never'
  const isOpenAI = ['chat', 'completions', 'responses'].includes(plan.api)
  // OpenAI's client of today waits for a body no longer than for its head, and asks again.
  const endsByItself = major === 7 && isOpenAI && !plan.stream && plan.way !== 'asResponse' && plan.timeout
  if (plan.fault === 'stalls') {
    plan.reader = 'all'
    if (!endsByItself) plan.abort = 'pull'
  }
  // This client has no timeout where it is given a signal.
  if (plan.api === 'interactions') plan.before = plan.before.filter((before) => before !== 'silent')
  // Nothing else ends what says nothing; and nothing else is to depend on how fast the machine is.
  plan.timeout = plan.before.includes('silent') || (plan.fault === 'stalls' && endsByItself)
  // A helper that fails for reasons of its own fails sooner where it sees chunks as they come.
  const isCut = plan.fault !== 'none' || plan.abort !== 'never' || plan.reader === 'aborts'
  if (isCut && (plan.way.endsWith('helper') || plan.way === 'tools')) {
    plan.framing = { ...plan.framing, unknown: false }
    plan.said = { ...plan.said, finish: 'stop' }
  }
  return plan
}

/** A text in pieces, cut at these places. */
export function split(text: string, cuts: readonly number[]): string[] {
  const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length]
  return at.slice(1).map((end, index) => text.slice(at[index], end))
}
