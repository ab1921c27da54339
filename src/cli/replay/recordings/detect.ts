import { isRecord } from '../../../internal/objects.ts'
import { isLangfuseObservation, isLangfuseTrace } from './langfuse.ts'
import { isLangSmithRun } from './langsmith.ts'
import { isConversation } from './openai-chat.ts'
import { isPhoenixSpan, isPhoenixTrace } from './phoenix.ts'
import { isSweAgentRun } from './swe-agent.ts'
import { isTauBenchRun } from './tau-bench.ts'
import { isTau2Simulation } from './tau2-bench.ts'
import type { RecordingFormat } from './types.ts'
import { isWhoAndWhenRun } from './who-and-when.ts'

/** Tells the format by its shape alone; undefined when it is none that can be read. */
export function detectFormat(value: unknown): RecordingFormat | undefined {
  const first = Array.isArray(value) ? value[0] : value
  const known = formatOf(first)
  if (known) return known
  if (isRecord(value) && 'simulations' in value) return 'tau2-bench'
  const listed = isRecord(value) ? listIn(value) : undefined
  if (listed) return listed
  if (isConversation(value) && !Array.isArray(value)) return 'openai-chat'
  if (!Array.isArray(value)) return undefined
  return isConversation(first) || (isRecord(first) && 'role' in first) ? 'openai-chat' : undefined
}

/** Of a run, or of a part of one, in a list or alone. */
function formatOf(value: unknown): RecordingFormat | undefined {
  if (isTauBenchRun(value)) return 'tau-bench'
  if (isTau2Simulation(value)) return 'tau2-bench'
  if (isSweAgentRun(value)) return 'swe-agent'
  if (isWhoAndWhenRun(value)) return 'who-and-when'
  if (isLangSmithRun(value)) return 'langsmith'
  if (isLangfuseTrace(value) || isLangfuseObservation(value)) return 'langfuse'
  return isPhoenixTrace(value) || isPhoenixSpan(value) ? 'phoenix' : undefined
}

/** What an API answers: a list below a key. */
function listIn({ runs, data }: Record<string, unknown>): RecordingFormat | undefined {
  const [first] = Array.isArray(runs) ? runs : Array.isArray(data) ? data : []
  const format = formatOf(first)
  return format === 'langsmith' || format === 'langfuse' || format === 'phoenix' ? format : undefined
}
