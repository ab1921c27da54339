import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { adapterContract } from 'hookspan/adapter/contract'
import { describe, expect, it } from 'vitest'
import { SUBJECTS } from '../../adapter/subjects/index.ts'
import { installedVersion, OLDEST_FOLDER, SDKS_FOLDER, sdkVersions } from '../support/sdks.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const { testedWith } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
  testedWith: Readonly<Record<string, string>>
}
const parts = (version: string) => version.split('.').map(Number)
/** `>=1.4 <2` begins with 1.4.0. */
const oldestOf = (range: string) => {
  const [major = 0, minor = 0, patch = 0] = parts(/^>=([\d.]+)/.exec(range)?.[1] ?? '')
  return [major, minor, patch].join('.')
}
const versionIn = (folder: string, name: string) =>
  JSON.parse(readFileSync(`${folder}/node_modules/${name}/package.json`, 'utf8')).version as string

const ENGINES_FOLDER = `${ROOT}/test/durable`

/** What else is a peer than SDKs that an adapter is for. */
const OTHERS = /^(@opentelemetry\/.+|@pydantic\/genai-prices|gpt-tokenizer|redis|vitest)$/

const SDKS = Object.keys(testedWith).filter((name) => !OTHERS.test(name))

/** In which versions an SDK is there, by its name or by another that stands for it. */
const versionsOf = (name: string) =>
  [OLDEST_FOLDER, SDKS_FOLDER, ENGINES_FOLDER].flatMap((folder) =>
    Object.entries(sdkVersions(folder))
      .filter(([key, wanted]) => key === name || wanted.startsWith(`npm:${name}@`))
      // Engines of durable runs are there in one version only, and installed for their own suite.
      .map(([key, wanted]) => (folder === ENGINES_FOLDER ? wanted : installedVersion(key, folder))),
  )

describe('the oldest version of each range', () => {
  it.each(SDKS)('of %s is the one that is tested', (name) => {
    const range = testedWith[name] as string
    const versions = versionsOf(name)
    expect(versions.length > 0 ? versions : [versionIn(ROOT, name)]).toContain(oldestOf(range))
  })
})

it('is what the tests load', async () => {
  const { default: Anthropic } = await import('@anthropic-ai/sdk')
  const { default: OpenAI } = await import('openai')
  const said = [new Anthropic({ apiKey: 'k' }), new OpenAI({ apiKey: 'k' })].map((client) =>
    (client as unknown as { getUserAgent(): string }).getUserAgent(),
  )
  expect(said).toEqual(['Anthropic/JS 1.0.0', 'OpenAI/JS 6.0.0'])
})

describe.each(SUBJECTS)('on the oldest versions the contract holds for $name', (subject) => {
  // The rest of a run that waited goes on here, with nothing but its JSON.
  for (const { name, run } of adapterContract(subject)) it(name, run)
})
