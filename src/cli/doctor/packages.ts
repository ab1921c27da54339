import { toInstall } from '../../internal/node-sdk.ts'
import { findInstalled as find, type Installed } from '../../internal/version-range.ts'
import { installLine } from '../install-line.ts'
import { SDKS } from '../peers.ts'
import type { Finding } from './finding.ts'

const API = '@opentelemetry/api'

const OPTIONAL: readonly (readonly [name: string, what: string])[] = [
  ['openai', 'execAgent, observeOpenAI, `hookspan demo` and `hookspan replay`'],
  ['gpt-tokenizer', 'compaction without a `countTokens` of your own'],
  ['@pydantic/genai-prices', 'the cost of model calls without a `priceOf` of your own'],
]

/** What is installed, as the package itself would load it. */
export function checkPackages(): Finding[] {
  const api = find(API, import.meta.url)
  const name = SDKS.find((one) => find(one, import.meta.url)) ?? SDKS[0]
  const sdk = find(name, import.meta.url)
  const missing = [...(api ? [] : [API]), ...(sdk ? [] : [name])]
  const tracing: Finding =
    missing.length > 0
      ? {
          check: 'tracing-packages',
          state: 'wrong',
          says: `not installed: ${missing.join(', ')}`,
          mend: `Run: ${installLine(missing.map((one) => toInstall(one, import.meta.url)))}`,
        }
      : {
          check: 'tracing-packages',
          state: 'ok',
          says: `${name} ${sdk?.version}, ${API} ${api?.version}`,
        }
  const versions = sdk ? checkApis(api, sdk, name) : []
  return [tracing, ...versions, ...OPTIONAL.map(checkOptional)]
}

/** Spans are handed over through the API, so everybody must use the same copy, or at least not an older one. */
function checkApis(ours: Installed | undefined, sdk: Installed, name: string): Finding[] {
  const theirs = find(API, sdk.manifest)
  if (ours === undefined || theirs === undefined || ours.manifest === theirs.manifest) return []
  const line = installLine([`${API}@${theirs.version}`])
  return [
    {
      check: 'api-copies',
      state: major(ours) === major(theirs) ? 'note' : 'wrong',
      says: `two copies of ${API}: ${ours.version} for hookspan, ${theirs.version} for ${name}`,
      mend: `Run: ${line}${line.startsWith('npm ') ? ' && npm dedupe' : ''}`,
    },
  ]
}

function checkOptional([name, what]: readonly [string, string]): Finding {
  const installed = find(name, import.meta.url)
  if (installed) return { check: `package:${name}`, state: 'ok', says: `${name} ${installed.version}` }
  return {
    check: `package:${name}`,
    state: 'note',
    says: `${name} is not installed; needed for ${what}`,
    mend: `Run: ${installLine([name])}`,
  }
}

function major({ version }: Installed): string | undefined {
  return version.split('.')[0]
}
