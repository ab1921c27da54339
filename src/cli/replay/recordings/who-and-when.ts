import { describeValue } from '../../../internal/errors.ts'
import { defined, isRecord } from '../../../internal/objects.ts'
import { expectString, type Fields, NO_ORIGIN } from './fields.ts'
import { prompts } from './openai-chat.ts'
import { type OnBad, parseEach } from './parse-each.ts'
import { RecordingError, type RecordingPlace } from './recording-error.ts'
import { RunBuilder } from './run-builder.ts'
import type { RecordedOutcome, RecordedRun } from './types.ts'

export function isWhoAndWhenRun(value: unknown): value is Fields {
  return isRecord(value) && 'history' in value && ('mistake_agent' in value || 'mistake_step' in value)
}

/**
 * Who&When: `{ question, history: [{ role, name?, content }], mistake_agent, mistake_step, mistake_reason }`, one team of
 * agents in a file. Every message but the human's is an agent's answer, and the terminal's is what code gave.
 */
export function parseWhoAndWhen(value: unknown, source: string, onBad?: OnBad): RecordedRun[] {
  const runs = Array.isArray(value) ? value : [value]
  return parseEach(runs, onBad, (run, index) => {
    const place = { source, run: index }
    if (!isWhoAndWhenRun(run) || !Array.isArray(run.history)) {
      throw new RecordingError(
        place,
        `expected a Who&When run with a \`history\` list, got ${describeValue(run)}.`,
      )
    }
    if (run.history.length === 0) throw new RecordingError(place, 'the history has no messages. Remove it.')
    const builder = new RunBuilder()
    // The experts of the first half are told the question in their instructions.
    const isAsked = run.history.some((message) => isRecord(message) && message.role === 'human')
    if (!isAsked && typeof run.question === 'string') {
      builder.add({ kind: 'user', content: run.question, calls: [], origin: NO_ORIGIN })
    }
    for (const [at, message] of run.history.entries()) addMessage(builder, message, { ...place, message: at })
    const { items, calls } = builder
    return {
      id: typeof run.question_ID === 'string' ? run.question_ID : `question-${index}`,
      ...{ source, format: 'who-and-when' as const, index },
      ...prompts(items),
      ...{ items, calls, outcome: outcomeOf(run) },
    }
  })
}

function addMessage(builder: RunBuilder, message: unknown, place: RecordingPlace): void {
  if (!isRecord(message)) {
    throw new RecordingError(place, `expected a message, got ${describeValue(message)}.`)
  }
  const content = expectString(message.content, '`content`', place)
  const role = expectString(message.role, '`role`', place)
  const name = typeof message.name === 'string' ? message.name : role
  if (role === 'human') builder.add({ kind: 'user', content, calls: [], origin: NO_ORIGIN })
  else if (/^computer_?terminal$/i.test(name)) addTerminal(builder, name, content, place)
  else builder.add({ kind: 'assistant', content, name, calls: [], origin: NO_ORIGIN })
}

/** It runs the code of the message before; what it gave is said to the others. */
function addTerminal(builder: RunBuilder, name: string, content: string, place: RecordingPlace): void {
  const id = `terminal-${builder.calls.length}`
  const calls = builder.addCalls([
    { id, name, args: {}, argumentsText: '{}', madeBy: 'code', origin: NO_ORIGIN },
  ])
  builder.add({ kind: 'code', content: null, calls, origin: NO_ORIGIN })
  const isError = /^exitcode: (?!0\b)/.test(content)
  builder.addResult(id, place, () => ({ name, madeBy: 'code', content, isError, origin: NO_ORIGIN }))
  builder.add({ kind: 'user', content, name, calls: [], origin: NO_ORIGIN })
}

function outcomeOf(run: Fields): RecordedOutcome {
  const text = (key: string) => {
    const value = run[key]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  const mistake = defined({
    agent: text('mistake_agent'),
    step: text('mistake_step'),
    reason: text('mistake_reason'),
  })
  return { mistake }
}
