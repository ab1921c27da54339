/** The skill that ships in the package, followed to the letter in three small agents, as somebody does who knows nothing else. */
import { execFile } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startViewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const AGENTS = fileURLToPath(new URL('agents', import.meta.url))
const skill = readFileSync(join(ROOT, 'skills/hookspan/SKILL.md'), 'utf8')
const run = promisify(execFile)

/** The block behind `<!-- what: name -->`. */
function block(what: string, name: string): string {
  const found = skill.split(`<!-- ${what}: ${name} -->\n`)[1]
  const code = /^```\w+\n([\s\S]*?)```/.exec(found ?? '')?.[1]
  if (code === undefined) throw new Error(`The skill has no ${what}: ${name}.`)
  return code
}

/** What `patch` does, without its leniency: each hunk fits in one place. */
function patched(source: string, diff: string): string {
  const hunks = diff.split(/^@@\n/m).slice(1)
  const side = (hunk: string, sign: string) =>
    hunk
      .split('\n')
      .filter((line) => line.startsWith(sign) || line.startsWith(' '))
      .map((line) => line.slice(1))
      .join('\n')
  return hunks.reduce((text, hunk) => {
    const before = side(hunk, '-')
    expect(text.split(before), `to be there once:\n${before}`).toHaveLength(2)
    return text.replace(before, () => side(hunk, '+'))
  }, source)
}

let folder: string
let viewer: Awaited<ReturnType<typeof startViewer>>
beforeAll(async () => {
  // In the repository, where `hookspan` and the SDKs are found as in a project that has installed them.
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  folder = mkdtempSync(join(ROOT, '.cache/skill-'))
  viewer = await startViewer({ port: 0, db: ':memory:' })
})
afterAll(async () => {
  await viewer.close()
  rmSync(folder, { recursive: true, force: true })
})

const env = () => ({
  ...process.env,
  OTEL_EXPORTER_OTLP_ENDPOINT: viewer.otlpEndpoint,
  NODE_NO_WARNINGS: '1',
  NO_COLOR: '1',
})

async function printed(where: string, ...args: string[]): Promise<string[]> {
  const { stdout, stderr } = await run(process.execPath, args, { cwd: where, env: env() })
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

/** A command of the skill, asked of the viewer of this test. */
const hookspan = async (...args: string[]) =>
  JSON.parse(
    (
      await run(process.execPath, [join(ROOT, 'dist/cli/bin.js'), ...args, '--url', viewer.url], {
        env: env(),
      })
    ).stdout,
  )

describe.each(['openai.mjs', 'ai-sdk.mjs', 'own-loop.mjs'])('in %s', (name) => {
  const found = 'real tool: order 7 is shipped'
  const dropped = 'real tool: orders is gone'
  const refused =
    name === 'ai-sdk.mjs' ? 'Order 7 was looked up.' : expect.stringContaining('"tool_not_allowed"')
  let where: string
  let bare: string[]
  beforeAll(async () => {
    where = join(folder, name)
    mkdirSync(where)
    for (const file of ['model.mjs', name]) copyFileSync(join(AGENTS, file), join(where, file))
    bare = await printed(where, name)
    expect(bare).toEqual(expect.arrayContaining([found, dropped]))
  })

  it('attaches, and the agent says what it said before', async () => {
    writeFileSync(join(where, 'hookspan.mjs'), block('file', 'hookspan.mjs'))
    const agent = join(where, name)
    writeFileSync(agent, patched(readFileSync(agent, 'utf8'), block('change', name)))
    expect(await printed(where, name)).toEqual(bare)
    const { spans } = await hookspan('show', 'latest', '--json')
    const names = spans.map((span: { name: string }) => span.name)
    expect(names).toEqual(expect.arrayContaining(['execute_tool find_order', 'execute_tool drop_table']))
    expect(names.filter((one: string) => one.startsWith('chat ')).length).toBe(
      name === 'own-loop.mjs' ? 0 : 3,
    )
  })

  it('gates: the refused tool does not run', async () => {
    appendFileSync(join(where, 'hookspan.mjs'), block('append', 'hookspan.mjs'))
    const lines = await printed(where, name)
    expect(lines).toContain(found)
    expect(lines).not.toContain(dropped)
    expect(lines).toContainEqual(refused)
    const { spans } = await hookspan('show', 'latest', '--json')
    const drop = spans.find((span: { name: string }) => span.name === 'execute_tool drop_table')
    expect(JSON.stringify(drop)).toContain('tool_not_allowed')
  })

  it('mocks: no real tool runs', async () => {
    writeFileSync(join(where, 'mock.mjs'), block('file', 'mock.mjs'))
    const test = `
      const { mocks } = await import('./mock.mjs')
      await import('./${name}')
      mocks.assertUsed()
      mocks[Symbol.dispose]()`
    const lines = await printed(where, '--input-type=module', '--eval', test)
    expect(lines.filter((line) => line.startsWith('real tool:'))).toEqual([])
    const { spans } = await hookspan('show', 'latest', '--json')
    const find = spans.find((span: { name: string }) => span.name === 'execute_tool find_order')
    expect(find).toMatchObject({ mocked: true })
  })
})

it('reads traces with the commands that it names', async () => {
  for (const [, command = ''] of skill.matchAll(/^npx hookspan ((?:runs|show) .*)$/gm)) {
    const args = command.split(' ')
    const { stdout } = await run(
      process.execPath,
      [join(ROOT, 'dist/cli/bin.js'), ...args, '--url', viewer.url],
      { env: env() },
    )
    expect(stdout).not.toBe('')
  }
})
