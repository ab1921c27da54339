import { didYouMean, keysOf } from '../../internal/expect.ts'
import { ScriptError } from './script-error.ts'
import type {
  ScriptedError,
  ScriptedReply,
  ScriptedStep,
  ScriptedToolCall,
  ScriptedUsage,
  ScriptOptions,
} from './types.ts'

const OPTION_KEYS = keysOf<ScriptOptions>({
  steps: true,
  respond: true,
  latencyMs: true,
  recordRequests: true,
})
export const STEP_KEYS = keysOf<ScriptedStep>({
  ...{
    content: true,
    reasoning: true,
    toolCalls: true,
    usage: true,
    finishReason: true,
    model: true,
    id: true,
  },
  ...{
    error: true,
    raw: true,
    cutAfterChunks: true,
    latencyMs: true,
    chunkDelayMs: true,
    toolCallOrder: true,
  },
})
const CALL_KEYS = keysOf<ScriptedToolCall>({ id: true, name: true, arguments: true })
const USAGE_KEYS = keysOf<ScriptedUsage>({
  ...{ inputTokens: true, outputTokens: true, cachedInputTokens: true },
  ...{ cacheCreationInputTokens: true, reasoningTokens: true },
})
const ERROR_KEYS = keysOf<ScriptedError>({
  ...{ status: true, message: true, code: true, type: true, retryAfterMs: true },
})
const RAW_KEYS = keysOf<ScriptedReply>({ body: true, status: true, contentType: true })

/** @throws ScriptError naming the value, so that a misspelt step fails where it is written. */
export function checkOptions(options: ScriptOptions): void {
  checkKeys(options, OPTION_KEYS, 'the options of a script')
  const { steps, respond, latencyMs } = options
  if ((steps === undefined) === (respond === undefined)) {
    throw invalid(`Expected either \`steps\` or \`respond\`, got ${steps ? 'both' : 'neither'}`)
  }
  if (respond !== undefined && typeof respond !== 'function') {
    throw invalid(`Expected \`respond\` to be a function, got ${show(respond)}`)
  }
  if (steps !== undefined && !Array.isArray(steps)) {
    throw invalid(`Expected \`steps\` to be an array, got ${show(steps)}`)
  }
  checkCount(latencyMs, 'latencyMs')
  steps?.forEach((step, index) => {
    checkStep(step, `steps[${index}]`)
  })
}

/** @throws ScriptError */
export function checkStep(step: ScriptedStep, where: string): void {
  if (typeof step !== 'object' || step === null)
    throw invalid(`Expected ${where} to be an object, got ${show(step)}`)
  checkKeys(step, STEP_KEYS, where)
  checkKeys(step.usage, USAGE_KEYS, `${where}.usage`)
  checkKeys(step.error, ERROR_KEYS, `${where}.error`)
  checkKeys(step.raw, RAW_KEYS, `${where}.raw`)
  if (step.content !== undefined && step.content !== null && typeof step.content !== 'string') {
    throw invalid(`Expected ${where}.content to be a string or null, got ${show(step.content)}`)
  }
  step.toolCalls?.forEach((call, index) => {
    checkKeys(call, CALL_KEYS, `${where}.toolCalls[${index}]`)
    if (typeof call?.name !== 'string' || call.name === '') {
      throw invalid(`Expected ${where}.toolCalls[${index}].name to be a name, got ${show(call?.name)}`)
    }
  })
  for (const [key, value] of Object.entries(step.usage ?? {})) {
    checkCount(value, `${where}.usage.${key}`)
  }
  const { status } = step.error ?? { status: 500 }
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw invalid(`Expected ${where}.error.status to be from 400 to 599, got ${show(status)}`)
  }
  if (step.raw !== undefined && typeof step.raw.body !== 'string') {
    throw invalid(`Expected ${where}.raw.body to be a string, got ${show(step.raw.body)}`)
  }
  checkCount(step.error?.retryAfterMs, `${where}.error.retryAfterMs`)
  checkCount(step.latencyMs, `${where}.latencyMs`)
  checkCount(step.chunkDelayMs, `${where}.chunkDelayMs`)
  checkCount(step.cutAfterChunks, `${where}.cutAfterChunks`)
}

/** @throws ScriptError naming the key, and the nearest that there is. */
export function checkKeys(given: object | undefined, known: ReadonlySet<string>, where: string): void {
  for (const key of Object.keys(given ?? {})) {
    if (known.has(key)) continue
    const hint = didYouMean(key, known)
    throw invalid(`Unknown key \`${key}\` in ${where}.${hint} Known: ${[...known].join(', ')}`)
  }
}

function checkCount(value: unknown, where: string): void {
  if (value === undefined) return
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw invalid(`Expected \`${where}\` to be a finite number >= 0, got ${show(value)}`)
  }
}

const invalid = (message: string) => new ScriptError('INVALID_OPTION', `${message}.`)

function show(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : `\`${String(value)}\` (${typeof value})`
}
