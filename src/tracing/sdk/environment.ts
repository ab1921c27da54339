import { describeValue } from '../../internal/errors.ts'
import { misspelt, OTEL_VARIABLES, OWN_VARIABLES } from '../../internal/variables.ts'

// What OpenTelemetry's SDK reads of the environment. It tells of what it does not understand only where OTEL_LOG_LEVEL lets it.

type Holds = (value: string) => boolean
type Row = readonly [name: string, holds: Holds, wanted: string]

const NODE_SDK = 'needs @opentelemetry/sdk-node'

const LIMITS = {
  attributeCountLimit: ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', 'OTEL_ATTRIBUTE_COUNT_LIMIT'],
  attributeValueLengthLimit: ['OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'],
  eventCountLimit: ['OTEL_SPAN_EVENT_COUNT_LIMIT'],
  linkCountLimit: ['OTEL_SPAN_LINK_COUNT_LIMIT'],
} as const

const ANY: readonly Row[] = [
  ['OTEL_SDK_DISABLED', oneOf('true', 'false'), 'true or false'],
  [
    'OTEL_TRACES_SAMPLER',
    isSampler,
    'always_on, always_off, traceidratio, or one of them after parentbased_',
  ],
  ['OTEL_TRACES_SAMPLER_ARG', isRatio, 'a ratio from 0 to 1'],
  [
    'OTEL_RESOURCE_ATTRIBUTES',
    arePairs,
    'name=value pairs with commas between, and %2C, %3D, %25 in them for , = %',
  ],
  ...Object.values(LIMITS)
    .flat()
    .map((name): Row => [name, isCount, 'a number >= 0']),
]

const OF_WHOLE: readonly Row[] = [
  [
    'OTEL_LOG_LEVEL',
    oneOf('none', 'error', 'warn', 'info', 'debug', 'verbose', 'all'),
    'none, error, warn, info, debug, verbose or all',
  ],
  [
    'OTEL_PROPAGATORS',
    listOf('tracecontext', 'baggage', 'b3', 'b3multi', 'jaeger', 'none'),
    'tracecontext, baggage, b3, b3multi or none, with commas between',
  ],
]

const OF_SMALL: readonly Row[] = [
  ['OTEL_LOG_LEVEL', () => false, `nothing: it ${NODE_SDK}`],
  [
    'OTEL_PROPAGATORS',
    listOf('tracecontext', 'baggage', 'none'),
    `tracecontext, baggage or none; another one ${NODE_SDK}`,
  ],
]

const CAPTURE: Row = [
  'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
  oneOf('true', 'false', 'no_content', 'span_only', 'event_only', 'span_and_event'),
  'true, false, span_only, event_only, span_and_event or no_content',
]

/** @param capture whether that is left to the environment */
export function tellUnheld(
  { isSmall, capture }: { isSmall: boolean; capture: boolean },
  onTrouble: (message: string) => void,
): void {
  for (const [name, holds, wanted] of [
    ...ANY,
    ...(isSmall ? OF_SMALL : OF_WHOLE),
    ...(capture ? [CAPTURE] : []),
  ]) {
    const value = textOf(name)
    if (value !== '' && !holds(value))
      onTrouble(`${name} is ${describeValue(value)}, which is not held: expected ${wanted}.`)
  }
  for (const says of misspelt([...OTEL_VARIABLES, ...OWN_VARIABLES])) onTrouble(says)
}

/** Undefined where the environment says nothing of them. */
export function spanLimitsByEnv(): Record<string, number> | undefined {
  const asked = Object.entries(LIMITS).filter(([, names]) => names.some((name) => textOf(name) !== ''))
  if (asked.length === 0) return undefined
  return Object.fromEntries(
    asked.map(([limit, names]) => {
      const found = names.map(textOf).find((value) => value !== '' && isCount(value))
      return [
        limit,
        found === undefined ? (limit === 'attributeValueLengthLimit' ? Infinity : 128) : Number(found),
      ]
    }),
  )
}

/** As the SDK has it: by its parent, everything, where the environment says nothing that is known. */
export function samplerNameByEnv(): string {
  const name = textOf('OTEL_TRACES_SAMPLER')
  return isSampler(name) ? name : 'parentbased_always_on'
}

export function ratioByEnv(): number {
  const given = textOf('OTEL_TRACES_SAMPLER_ARG')
  return given !== '' && isRatio(given) ? Number(given) : 1
}

/** Those of the W3C unless others are asked for. */
export function propagatorsByEnv(): readonly string[] {
  const names = namesIn(textOf('OTEL_PROPAGATORS'))
  return names.length === 0 ? ['tracecontext', 'baggage'] : names
}

function textOf(name: string): string {
  return process.env[name]?.trim() ?? ''
}

function oneOf(...names: readonly string[]): Holds {
  return (value) => names.includes(value.toLowerCase())
}

function listOf(...names: readonly string[]): Holds {
  return (value) => namesIn(value).every((name) => names.includes(name))
}

function namesIn(list: string): string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function isSampler(value: string): boolean {
  return /^(parentbased_)?(always_on|always_off|traceidratio)$/.test(value)
}

function isRatio(value: string): boolean {
  return Number(value) >= 0 && Number(value) <= 1
}

function isCount(value: string): boolean {
  return Number(value) >= 0
}

/** One that is none, and the SDK reads nothing of them. */
function arePairs(value: string): boolean {
  return namesIn(value).every((pair) => {
    const [name = '', text, ...more] = pair.split('=')
    return (
      name.trim() !== '' && text !== undefined && more.length === 0 && isDecodable(name) && isDecodable(text)
    )
  })
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
