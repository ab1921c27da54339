import { isRecord } from '../../internal/objects.ts'
import { warnOnce } from '../warn-once.ts'
import type { MastraAgent } from './sdk.ts'

/** One that talks with a model by itself calls the agent's tools by itself, too. */
export function warnOfVoice(agent: MastraAgent): void {
  let voice: unknown
  try {
    voice = agent.voice
  } catch {
    // It is made for each session.
    return
  }
  if (!isRecord(voice)) return
  const { realtimeProvider } = voice
  const callsTools =
    'realtimeProvider' in voice
      ? realtimeProvider !== undefined
      : Object.hasOwn(Object.getPrototypeOf(voice) ?? {}, 'addTools')
  if (!callsTools) return
  warnOnce(
    `hookspan: the voice of "${agent.name}" calls tools by itself: no gate decides, no mock stands in, and there are no spans. ` +
      'Put the tools through wrapTools() before the agent is given them.',
  )
}
