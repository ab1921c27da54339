import type { Patches } from '../sdk-run/patches.ts'
import type { CopilotClient } from './sdk.ts'

/** By which Copilot sends spans of its own, also where nobody has asked it to: what else is set changes nothing. */
const SENDING = /^(OTEL_EXPORTER_OTLP_|COPILOT_OTEL_)/

/** Leaves out the spans that Copilot makes itself. */
export function omitSdkSpans(client: CopilotClient, patches: Patches): void {
  const { buildRuntimeEnv } = client
  if (typeof buildRuntimeEnv !== 'function') return
  patches.replace(client, 'buildRuntimeEnv', () => {
    const env = Object.entries(buildRuntimeEnv.call(client))
    return Object.fromEntries(env.filter(([name]) => !SENDING.test(name)))
  })
}
