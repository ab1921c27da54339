import { describeValue } from '../../../internal/errors.ts'
import { defined, isRecord } from '../../../internal/objects.ts'
import { type Fields, optionalNumber } from './fields.ts'
import { parseChatMessages } from './openai-chat.ts'
import { type OnBad, parseEach } from './parse-each.ts'
import { RecordingError } from './recording-error.ts'
import type { RecordedRun } from './types.ts'

export function isTauBenchRun(value: unknown): value is Fields {
  return isRecord(value) && 'traj' in value
}

/** tau-bench: `[{ task_id, trial, reward, info, traj: [chat message, …] }, …]`. */
export function parseTauBench(value: unknown, source: string, onBad?: OnBad): RecordedRun[] {
  const runs = Array.isArray(value) ? value : [value]
  return parseEach(runs, onBad, (run, index) => {
    const place = { source, run: index }
    if (!isTauBenchRun(run) || !Array.isArray(run.traj)) {
      throw new RecordingError(
        place,
        `expected a tau-bench run with a \`traj\` list, got ${describeValue(run)}.`,
      )
    }
    // The format has no error flag; its tools answer with a text that starts like this, in this spelling.
    const messages = parseChatMessages(run.traj, place, (content) => content.startsWith('Error'))
    return {
      id: `task${run.task_id ?? index}-trial${run.trial ?? 0}`,
      ...{ source, format: 'tau-bench' as const, index },
      ...messages,
      outcome: defined({ reward: optionalNumber(run.reward) }),
    }
  })
}
