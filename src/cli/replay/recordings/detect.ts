import { isRecord } from '../../../internal/objects.ts'
import { isConversation } from './openai-chat.ts'
import { isTauBenchRun } from './tau-bench.ts'
import type { RecordingFormat } from './types.ts'

/** Tells the format by its shape alone; undefined when it is none that can be read. */
export function detectFormat(value: unknown): RecordingFormat | undefined {
  if (isTauBenchRun(value)) return 'tau-bench'
  if (isRecord(value) && 'simulations' in value) return 'tau2-bench'
  if (isConversation(value) && !Array.isArray(value)) return 'openai-chat'
  if (!Array.isArray(value)) return undefined
  const [first] = value
  if (isTauBenchRun(first)) return 'tau-bench'
  return isConversation(first) || (isRecord(first) && 'role' in first) ? 'openai-chat' : undefined
}
