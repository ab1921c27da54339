import type { SdkArguments } from './sdk.ts'

/** Where the SDK keeps what `registerTelemetry()` was given. */
const REGISTERED = 'AI_SDK_TELEMETRY_INTEGRATIONS'

/**
 * Leaves the integrations out that make spans of what ours are of already (`@ai-sdk/otel`). All others stay. Gives
 * nothing where nothing is to be left out.
 */
export function withoutSpans({ telemetry, experimental_telemetry }: SdkArguments): Partial<SdkArguments> {
  const own = telemetry ?? experimental_telemetry
  const registered = (globalThis as { readonly [REGISTERED]?: unknown })[REGISTERED]
  // Those of a call replace the registered ones.
  const given = own?.integrations ?? registered ?? []
  const integrations: readonly unknown[] = Array.isArray(given) ? given : [given]
  const kept = integrations.filter((integration) => !makesSpans(integration))
  return kept.length === integrations.length ? {} : { telemetry: { ...own, integrations: kept } }
}

/** By its class, or the class that it extends: nothing else tells them apart. */
function makesSpans(integration: unknown): boolean {
  for (let at = integration; typeof at === 'object' && at !== null; at = Object.getPrototypeOf(at)) {
    const name: unknown = (at as { constructor?: { name?: unknown } }).constructor?.name
    if (name === 'OpenTelemetry' || name === 'LegacyOpenTelemetry') return true
  }
  return false
}
