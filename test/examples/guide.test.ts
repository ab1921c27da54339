import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { fillGuide } from './support/guide.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/testing-an-agent.md'), 'utf8')

it('shows the examples as they are (npm run docs:guide)', () => {
  expect(fillGuide(page)).toBe(page)
  for (const file of readdirSync(join(root, 'examples/testing')).filter((name) => name.endsWith('.ts'))) {
    expect(page).toContain(`<!-- examples/testing/${file}`)
  }
})

it('starts from a test that fails as the page says', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-guide-'))
  const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: '1', HOOKSPAN_TRACE_DIR: folder }
  for (const name of Object.keys(env)) if (/^VITEST|^NODE_ENV$|^NODE_OPTIONS$/.test(name)) delete env[name]
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/examples/support/guide.config.ts']
  try {
    const run = promisify(execFile)(process.execPath, args, { cwd: root, env })
    const failed = await run.then(
      () => undefined,
      (error: { stdout: string; stderr: string }) => `${error.stdout}\n${error.stderr}`,
    )
    const shown = /<!-- output of [^>]*-->\n\n```text\n([\s\S]*?)\n```/.exec(page)?.[1] as string
    const withoutTimes = (text: string) =>
      text.replaceAll(/\d+ ms/g, 'n ms').replaceAll(/\(saved as [^)]*\)/g, '(saved)')
    expect(shown.split('\n').length).toBeGreaterThan(10)
    for (const line of shown.split('\n').filter((one) => one.trim() !== '')) {
      expect(withoutTimes(failed ?? 'it passed')).toContain(withoutTimes(line.trim()))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
