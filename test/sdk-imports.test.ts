/** `npm test` type-checks before any SDK is there that `npm run sdks:install` brings. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { sdkVersions } from './sdks/support/sdks.ts'

/** Programs that are run beside the SDKs, and texts of programs. */
const PROGRAMS = ['test/sdks/processes/**', 'test/sdks/init.test.ts']

const root = fileURLToPath(new URL('..', import.meta.url))
const { devDependencies } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
const later = Object.keys(sdkVersions()).filter((name) => !(name in devDependencies))

it('tests name no SDK in an import that is installed only later', () => {
  expect(later).toContain('@anthropic-ai/claude-agent-sdk')
  const named = globSync('test/**/*.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', ...PROGRAMS],
  }).flatMap((file) => {
    const text = readFileSync(`${root}/${file}`, 'utf8')
    const imports = [...text.matchAll(/^(?:import .*? from |(?:const|let) .*? = await import\()'([^']+)'/gm)]
    return imports.flatMap(([, from = '']) =>
      later.some((name) => from === name || from.startsWith(`${name}/`)) ? [`${file}: ${from}`] : [],
    )
  })
  expect(named).toEqual([])
})
