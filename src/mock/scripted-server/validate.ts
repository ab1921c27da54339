import { ScriptError } from './script-error.ts'
import type { ScriptedStep, ScriptOptions } from './types.ts'

const STEP_KEYS = new Set([
  ...['content', 'reasoning', 'toolCalls', 'usage', 'finishReason', 'model', 'id', 'error', 'raw'],
  ...['cutAfterChunks', 'latencyMs', 'chunkDelayMs', 'toolCallOrder'],
])
const USAGE_KEYS = new Set([
  ...['inputTokens', 'outputTokens', 'cachedInputTokens', 'cacheCreationInputTokens', 'reasoningTokens'],
])

/** @throws ScriptError naming the value, so that a misspelt step fails where it is written. */
export function checkOptions({ steps, respond, latencyMs }: ScriptOptions): void {
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
  for (const key of Object.keys(step)) {
    if (!STEP_KEYS.has(key)) {
      throw invalid(`Unknown key \`${key}\` in ${where}. A step has: ${[...STEP_KEYS].join(', ')}`)
    }
  }
  if (step.content !== undefined && step.content !== null && typeof step.content !== 'string') {
    throw invalid(`Expected ${where}.content to be a string or null, got ${show(step.content)}`)
  }
  step.toolCalls?.forEach((call, index) => {
    if (typeof call?.name !== 'string' || call.name === '') {
      throw invalid(`Expected ${where}.toolCalls[${index}].name to be a name, got ${show(call?.name)}`)
    }
  })
  for (const [key, value] of Object.entries(step.usage ?? {})) {
    if (!USAGE_KEYS.has(key)) throw invalid(`Unknown key \`${key}\` in ${where}.usage`)
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
