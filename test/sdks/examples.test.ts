import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { readReadme } from '../support/readme.ts'
import { runProgram } from './support/elsewhere.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Examples on the SDKs that only test/sdks has. Those of `npm run test:examples` are not among them. */
const FOLDERS = ['strands', 'google-adk', 'copilot'].filter((name) => existsSync(`${ROOT}/examples/${name}`))

const programs = FOLDERS.flatMap((folder) =>
  readdirSync(`${ROOT}/examples/${folder}`)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `${folder}/${name}`),
)

it.each(programs)('examples/%s prints what its page says', async (name) => {
  const page = readFileSync(`${ROOT}/docs/adapters/${name.split('/')[0]}.md`, 'utf8')
  const quote = readReadme(page).find(({ example }) => example === `examples/${name}`)
  expect(quote?.output).toBeDefined()
  const env = { NODE_NO_WARNINGS: '1', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
  const output = await runProgram(`${ROOT}/examples/${name}`, [], { env })
  expect(output.trim()).toBe(quote?.output)
})

it('leaves no example unmentioned', () => {
  for (const folder of FOLDERS) {
    const page = readFileSync(`${ROOT}/docs/adapters/${folder}.md`, 'utf8')
    for (const name of readdirSync(`${ROOT}/examples/${folder}`)) {
      expect(page).toContain(`examples/${folder}/${name}`)
    }
  }
})
