import { findInstalled, readManifest } from './version-range.ts'

const NODE_SDK = '@opentelemetry/sdk-node'

/** SDKs that want older parts of OpenTelemetry beside them: npm refuses its newest SDK there. */
const BRING_PARTS = ['@strands-agents/sdk', '@google/adk']

/** One of the parts, which comes out with OpenTelemetry's SDK in the same version. */
const PART = '@opentelemetry/exporter-trace-otlp-http'

/** What `npm install` is given for a package, so that it takes it beside what is installed as seen `from` there. */
export function toInstall(name: string, from: string): string {
  if (name !== NODE_SDK) return name
  for (const sdk of BRING_PARTS) {
    const { dependencies, peerDependencies } = readManifest(findInstalled(sdk, from)?.manifest) ?? {}
    const version = /\d+\.\d+/.exec(peerDependencies?.[PART] ?? dependencies?.[PART] ?? '')?.[0]
    if (version !== undefined) return `${name}@${version}`
  }
  return name
}
