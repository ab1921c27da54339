import { basename } from 'node:path'
import { describeValue } from '../../../internal/errors.ts'
import { jsonIn } from '../../../internal/json.ts'
import { defined, isRecord } from '../../../internal/objects.ts'
import { type Fields, NO_ORIGIN, optionalNumber, textAt } from './fields.ts'
import { parseCall, prompts, textOf } from './openai-chat.ts'
import { type OnBad, parseEach } from './parse-each.ts'
import { RecordingError, type RecordingPlace } from './recording-error.ts'
import { RunBuilder } from './run-builder.ts'
import type { RecordedRun } from './types.ts'

export function isSweAgentRun(value: unknown): value is Fields {
  return isRecord(value) && 'history' in value && ('trajectory' in value || isHistory(value.history))
}

/** Demonstrations of models that call functions have all in their messages, and no more. */
function isHistory(history: unknown): boolean {
  const first: unknown = Array.isArray(history) ? history[0] : undefined
  return isRecord(first) && 'agent' in first && 'message_type' in first
}

/**
 * SWE-agent's `.traj`: `{ trajectory: [{ action, observation, response, … }], history: [message, …], info }`. The
 * history is what the model was sent and said; what the commands gave is in the trajectory. Models that call functions
 * ask for a command by a call; of the others the agent's code reads it out of the text.
 */
export function parseSweAgent(value: unknown, source: string, onBad?: OnBad): RecordedRun[] {
  const runs = Array.isArray(value) ? value : [value]
  const name = basename(source).replace(/\.traj$/i, '')
  return parseEach(runs, onBad, (run, index) => ({
    ...parseRun(run, { source, run: index }),
    ...{ id: runs.length === 1 ? name : `${name}-${index}`, source, format: 'swe-agent', index },
  }))
}

function parseRun(
  run: unknown,
  place: RecordingPlace,
): Omit<RecordedRun, 'id' | 'source' | 'format' | 'index'> {
  const { history, trajectory = [], replay_config: config, info } = isSweAgentRun(run) ? run : {}
  if (!Array.isArray(history) || !Array.isArray(trajectory)) {
    throw new RecordingError(
      place,
      `expected a SWE-agent trajectory with lists in \`trajectory\` and \`history\`, got ${describeValue(run)}.`,
    )
  }
  if (history.length === 0) throw new RecordingError(place, 'the history has no messages. Remove it.')
  const reader = new HistoryReader(trajectory)
  for (const [index, message] of history.entries()) reader.add(message, { ...place, message: index })
  const { items, calls } = reader.builder
  return {
    ...prompts(items),
    // Newer versions write it as text.
    ...defined({
      model: textAt(typeof config === 'string' ? jsonIn(config) : config, 'agent', 'model', 'name'),
    }),
    ...{ items, calls },
    outcome: defined({
      terminationReason: textAt(info, 'exit_status'),
      agentCostUsd: isRecord(info) ? costOf(info.model_stats) : undefined,
    }),
  }
}

class HistoryReader {
  readonly builder = new RunBuilder()
  readonly #steps: readonly unknown[]
  #next = 0
  #code = 0

  constructor(steps: readonly unknown[]) {
    this.#steps = steps
  }

  add(message: unknown, place: RecordingPlace): void {
    if (!isRecord(message)) {
      throw new RecordingError(place, `expected a chat message, got ${describeValue(message)}.`)
    }
    const { role } = message
    const content = textOf(message.content, place).content
    if (role === 'system') {
      this.builder.add({ kind: 'system', role, content: content ?? '', origin: NO_ORIGIN })
    } else if (role === 'user') {
      this.builder.add({ kind: 'user', content, calls: [], origin: NO_ORIGIN })
    } else if (role === 'assistant') this.#turn(message, content, place)
    else if (role === 'tool') this.#results(message, content ?? '', place)
    else {
      throw new RecordingError(
        place,
        `expected \`role\` to be system, user, assistant or tool, got ${describeValue(role)}.`,
      )
    }
  }

  #turn(message: Fields, content: string | null, place: RecordingPlace): void {
    const asked = Array.isArray(message.tool_calls) ? message.tool_calls : []
    const calls = this.builder.addCalls(asked.map((call, index) => parseCall(call, index, place)))
    this.builder.add({ kind: 'assistant', content, calls, origin: NO_ORIGIN })
    const step = this.#stepOf(content)
    const action = typeof message.action === 'string' ? message.action.trim() : ''
    if (calls.length === 0 && action !== '') this.#command(action, step, place)
  }

  /** The command that the agent's code found in the text, and what it gave. */
  #command(action: string, step: unknown, place: RecordingPlace): void {
    const name = action.split(/\s/, 1)[0] ?? action
    const id = `command-${this.#code++}`
    const args = { command: action }
    const calls = this.builder.addCalls([
      { id, name, args, argumentsText: JSON.stringify(args), madeBy: 'code', origin: NO_ORIGIN },
    ])
    this.builder.add({ kind: 'code', content: null, calls, origin: NO_ORIGIN })
    const observation = textAt(step, 'observation')
    if (observation === undefined) return
    this.builder.addResult(id, place, () => ({
      ...{ name, madeBy: 'code', content: observation, isError: false, origin: NO_ORIGIN },
    }))
  }

  #results(message: Fields, content: string, place: RecordingPlace): void {
    const ids = Array.isArray(message.tool_call_ids) ? message.tool_call_ids : [message.tool_call_id]
    for (const id of ids) {
      if (typeof id !== 'string') {
        throw new RecordingError(
          place,
          `expected \`tool_call_ids\` to be a list of strings, got ${describeValue(message.tool_call_ids)}.`,
        )
      }
      this.builder.addResult(id, place, ({ name }) => ({
        ...{ name, madeBy: 'assistant', content, isError: false, origin: NO_ORIGIN },
      }))
    }
  }

  /** The step that the answer began. Answers that were no good and asked for again have none. */
  #stepOf(content: string | null): unknown {
    const index = this.#steps.findIndex(
      (step, at) => at >= this.#next && textAt(step, 'response') === (content ?? ''),
    )
    if (index < 0) return undefined
    this.#next = index + 1
    return this.#steps[index]
  }
}

/** Zero where nobody counted. */
function costOf(stats: unknown): number | undefined {
  return isRecord(stats) ? optionalNumber(stats.instance_cost) || undefined : undefined
}
