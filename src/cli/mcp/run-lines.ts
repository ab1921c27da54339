/** What tools say of a run, and how long it may be. */
import { statusWord } from '../../viewer/model/format.ts'
import { QUERY_KEYS } from '../../viewer/model/query-keys.ts'
import type { RunSummary } from '../../viewer/model/span.ts'
import { shortened } from './answer.ts'
import { text } from './tool.ts'

export const QUERY = text(
  `Words in any span, and key:value, key>value, key<value, - before one excludes. Keys: ${Object.entries(
    QUERY_KEYS,
  )
    .filter(([key]) => !key.includes('.'))
    .map(([key, { says }]) => `${key} (${says})`)
    .join(', ')}. Example: agent:support status:failed since:2h`,
)
/** Of a line of a list. */
export const PREVIEW_CHARS = 200
/** Of a text in a conversation, an attribute or a difference. */
export const TEXT_CHARS = 2_000
/** Names in the order in which one asks. */
export function runLine(run: RunSummary): object {
  const { traceId, title, agent, service, status, reason, conversationId, startUs, durationMs } = run
  const { steps, llmCalls, toolCalls, mockedCalls, errors, waiting, inputTokens, outputTokens } = run
  const { cachedTokens, costUsd, models, tools } = run
  const full = {
    run: traceId,
    title,
    agent: agent === title ? undefined : agent,
    service,
    conversation: conversationId || undefined,
    status: statusWord(status),
    reason: reason || undefined,
    started: timeOf(startUs),
    durationMs,
    steps,
    llmCalls,
    toolCalls,
    mockedCalls: mockedCalls || undefined,
    errors: errors || undefined,
    waiting: waiting || undefined,
    inputTokens,
    outputTokens,
    cachedTokens: cachedTokens || undefined,
    costUsd: costUsd || undefined,
    models,
    tools: tools.slice(0, 10),
    asked: run.inputPreview || undefined,
    answered: run.answerPreview || undefined,
  }
  return shortened(told(full), PREVIEW_CHARS) as object
}

/** Without what is not there. */
export function told(fields: Readonly<Record<string, unknown>>): object {
  const isThere = (value: unknown) => value !== undefined && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isThere(value)))
}

export function timeOf(us: number): string {
  return us > 0 ? new Date(us / 1000).toISOString() : ''
}

export function known<T>(answer: T | undefined, from: string): T {
  if (answer === undefined)
    throw new Error(`The viewer at ${from} is too old for this. Restart \`hookspan view\`.`)
  return answer
}
