import { describeValue, errorMessage } from '../../internal/errors.ts'
import { a, didYouMean, type Fields, required, type Shape, shape } from '../../internal/expect.ts'
import { isRecord } from '../../internal/objects.ts'
import { ScriptError } from './script-error.ts'
import type {
  ScriptedError,
  ScriptedReply,
  ScriptedStep,
  ScriptedToolCall,
  ScriptedUsage,
  ScriptOptions,
} from './types.ts'

const TEXT = shape('a string or null', (value) => value === null || typeof value === 'string')
const COUNT = shape('a finite number >= 0', (value) => Number.isFinite(value) && (value as number) >= 0)
const FAILURE = shape(
  'from 400 to 599',
  (value) => Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599,
)

const OPTIONS: Fields<ScriptOptions> = {
  steps: a.list,
  respond: a.function,
  latencyMs: COUNT,
  recordRequests: a.boolean,
}
export const STEP: Fields<ScriptedStep> = {
  content: TEXT,
  reasoning: a.string,
  toolCalls: a.list,
  usage: a.object,
  finishReason: a.string,
  model: a.string,
  id: a.string,
  error: a.object,
  raw: a.object,
  cutAfterChunks: COUNT,
  latencyMs: COUNT,
  chunkDelayMs: COUNT,
  toolCallOrder: a.oneOf('sequential', 'interleaved'),
}
const CALL: Fields<ScriptedToolCall> = { id: a.string, name: required(a.name), arguments: a.value }
const USAGE: Fields<ScriptedUsage> = {
  inputTokens: COUNT,
  outputTokens: COUNT,
  cachedInputTokens: COUNT,
  cacheCreationInputTokens: COUNT,
  cacheCreation1hInputTokens: COUNT,
  reasoningTokens: COUNT,
}
const ERROR: Fields<ScriptedError> = {
  status: required(FAILURE),
  message: required(a.string),
  code: a.string,
  type: a.string,
  retryAfterMs: COUNT,
}
const RAW: Fields<ScriptedReply> = { body: required(a.string), status: a.integer(100), contentType: a.string }

/** @throws ScriptError naming the value, so that a misspelt step fails where it is written. */
export function checkOptions(options: ScriptOptions): void {
  checkFields<ScriptOptions>(options, OPTIONS, 'the options of a script')
  const { steps, respond } = options
  if ((steps === undefined) === (respond === undefined)) {
    throw invalid(`Expected either \`steps\` or \`respond\`, got ${steps ? 'both' : 'neither'}`)
  }
  steps?.forEach((step, index) => {
    checkStep(step, `steps[${index}]`)
  })
}

/** @throws ScriptError */
export function checkStep(step: ScriptedStep, where: string): void {
  checkFields<ScriptedStep>(step, STEP, where)
  const { usage, error, raw, toolCalls } = step
  if (usage !== undefined) checkFields<ScriptedUsage>(usage, USAGE, `${where}.usage`)
  if (error !== undefined) checkFields<ScriptedError>(error, ERROR, `${where}.error`)
  if (raw !== undefined) checkFields<ScriptedReply>(raw, RAW, `${where}.raw`)
  toolCalls?.forEach((call, index) => {
    checkFields<ScriptedToolCall>(call, CALL, `${where}.toolCalls[${index}]`)
  })
}

/** @throws ScriptError naming the key, and the nearest that there is; or the field, and what it has to be. */
export function checkFields<T extends object>(given: unknown, fields: Fields<T>, where: string): void {
  if (!isRecord(given)) throw invalid(`Expected ${where} to be an object, got ${describeValue(given)}`)
  const table = fields as Readonly<Record<string, Shape>>
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(table, key)) continue
    const known = Object.keys(table)
    throw invalid(`Unknown key \`${key}\` in ${where}.${didYouMean(key, known)} Known: ${known.join(', ')}`)
  }
  for (const [key, { fits, required: needed, words }] of Object.entries(table)) {
    const value = fieldOf(given, key, where)
    if (value === undefined ? needed !== true : fits(value)) continue
    throw invalid(`Expected \`${key}\` of ${where} to be ${words}, got ${describeValue(value)}`)
  }
}

function fieldOf(given: Record<string, unknown>, key: string, where: string): unknown {
  try {
    return given[key]
  } catch (error) {
    throw invalid(`\`${key}\` of ${where} cannot be read: ${errorMessage(error)}`)
  }
}

const invalid = (message: string) => new ScriptError('INVALID_OPTION', `${message}.`)
