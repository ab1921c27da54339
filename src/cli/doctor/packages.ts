import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Finding } from './finding.ts'

const SDK = '@opentelemetry/sdk-node'
const API = '@opentelemetry/api'

const OPTIONAL: readonly (readonly [name: string, what: string])[] = [
  ['openai', 'execAgent, observeOpenAI, `hookspan demo` and `hookspan replay`'],
  ['gpt-tokenizer', 'compaction without a `countTokens` of your own'],
  ['@pydantic/genai-prices', 'the cost of model calls without a `priceOf` of your own'],
]

interface Manifest {
  name?: string
  version?: string
  peerDependencies?: Record<string, string>
}

export interface Installed {
  version: string
  /** Its package.json, to look from there. */
  manifest: string
}

/** What is installed, as the package itself would load it. */
export function checkPackages(): Finding[] {
  const api = find(API, import.meta.url)
  const sdk = find(SDK, import.meta.url)
  const missing = [...(api ? [] : [API]), ...(sdk ? [] : [SDK])]
  const tracing: Finding =
    missing.length > 0
      ? {
          check: 'tracing-packages',
          state: 'wrong',
          says: `not installed: ${missing.join(', ')}`,
          mend: `Run: npm install ${missing.join(' ')}`,
        }
      : {
          check: 'tracing-packages',
          state: 'ok',
          says: `${SDK} ${sdk?.version}, ${API} ${api?.version}`,
        }
  const versions = sdk ? checkApis(api, sdk) : []
  return [tracing, ...versions, ...OPTIONAL.map(checkOptional)]
}

/** Spans are handed over through the API, so everybody must use the same copy, or at least not an older one. */
function checkApis(ours: Installed | undefined, sdk: Installed): Finding[] {
  const theirs = find(API, sdk.manifest)
  if (ours === undefined || theirs === undefined || ours.manifest === theirs.manifest) return []
  return [
    {
      check: 'api-copies',
      state: major(ours) === major(theirs) ? 'note' : 'wrong',
      says: `two copies of ${API}: ${ours.version} for hookspan, ${theirs.version} for ${SDK}`,
      mend: `Run: npm install ${API}@${theirs.version} && npm dedupe`,
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
    mend: `Run: npm install ${name}`,
  }
}

function major({ version }: Installed): string | undefined {
  return version.split('.')[0]
}

/** From the package's entry up to its package.json, which `exports` may hide; or by its folder, if it has no entry. */
export function find(name: string, from: string): Installed | undefined {
  const require = createRequire(from)
  let folder: string | undefined
  try {
    folder = dirname(require.resolve(name))
  } catch {
    const folders = (require.resolve.paths(name) ?? []).map((path) => join(path, name))
    folder = folders.find((path) => readManifest(join(path, 'package.json')) !== undefined)
  }
  for (; folder !== undefined; folder = above(folder)) {
    const manifest = join(folder, 'package.json')
    const value = readManifest(manifest)
    if (value?.name === name && value.version !== undefined) return { version: value.version, manifest }
  }
  return undefined
}

function above(folder: string): string | undefined {
  const parent = dirname(folder)
  return parent === folder ? undefined : parent
}

export function readManifest(path: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
