/** Each block of code of the pages is run, compiled or looked up; which way is in docs/snippets.md. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadConfig } from 'hookspan/policies'
import { parse as parseToml } from 'smol-toml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { startCollector } from '../support/collector.ts'
import { BLOCKS, type Block, kindOf, PAGES, ROOT, STALE } from './blocks.ts'
import { ENGINES, inProgram, PROGRAMS, runPageProgram } from './programs.ts'

const run = promisify(execFile)
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

const of = (kind: string) => BLOCKS.filter((block) => kindOf(block) === kind)

let folder: string
beforeAll(() => {
  // In the repository, where `hookspan` is found as in a project that has installed it.
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  folder = mkdtempSync(join(ROOT, '.cache/snippets-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('has a kind for every block, and no exception that nothing needs', () => {
  const kinds = Map.groupBy(BLOCKS, (block) => (inProgram(block) ? 'run in a program' : kindOf(block)))
  console.log([...kinds].map(([kind, { length }]) => `${kind}: ${length}`).join(', '))
  expect(BLOCKS.length).toBeGreaterThan(60)
  expect(STALE).toEqual([])
  const onlyLookedAt = kinds.get('code')?.map(({ at }) => at) ?? []
  expect(onlyLookedAt, 'code that no program of test/docs/programs runs').toEqual([])
})

it('has no block that is indented, which nothing here would see', () => {
  const indented = PAGES.filter((page) => /^[ \t]+```/m.test(readFileSync(join(ROOT, page), 'utf8')))
  expect(indented).toEqual([])
})

describe('programs of the blocks that are no whole files', () => {
  // Those with engines: test/durable/docs.test.ts.
  it.each(PROGRAMS.filter(({ name }) => !name.startsWith(ENGINES)))('$name', async (program) => {
    const { stderr } = await runPageProgram(program, folder)
    expect(stderr).not.toMatch(/Error/)
  })
})

describe('blocks that are run', () => {
  let collector: Awaited<ReturnType<typeof startCollector>>
  beforeAll(async () => {
    collector = await startCollector()
  })
  afterAll(() => collector.stop())

  it.each(of('run'))('$at', async ({ at, language, code, output }) => {
    expect(output, 'the block below it, without a language, says what it prints').toBeDefined()
    const file = join(folder, `${at.replaceAll(/\W/g, '-')}.${language}`)
    writeFileSync(file, code)
    const env = {
      ...process.env,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      NODE_NO_WARNINGS: '1',
      NO_COLOR: '1',
    }
    const { stdout, stderr } = await run(process.execPath, [file], { env })
    const trimmed = (text: string) => text.replaceAll(/ +$/gm, '').trim()
    expect(stderr).toBe('')
    expect(trimmed(stdout)).toBe(trimmed(output ?? ''))
  })
})

it('blocks of code compile against the types of the package', async () => {
  const where = mkdtempSync(join(folder, 'types-'))
  const names = new Map<string, string>()
  for (const [subpath, target] of Object.entries<string | { default: string }>(manifest.exports)) {
    if (typeof target === 'string' || /vitest|register/.test(subpath)) continue
    const from = `hookspan${subpath.slice(1)}`
    for (const name of Object.keys(await import(join(ROOT, target.default)))) {
      if (!names.has(name)) names.set(name, from)
    }
  }
  const given = readFileSync(new URL('given.d.ts', import.meta.url), 'utf8')
  const ambient = [...names].map(([name, from]) => `  const ${name}: typeof import('${from}').${name}`)
  writeFileSync(join(where, 'given.d.ts'), `${given}\ndeclare global {\n${ambient.join('\n')}\n}\n`)
  const compiled = BLOCKS.filter((block) => kindOf(block) === 'code')
  for (const { at, code } of compiled) {
    writeFileSync(join(where, `${at.replaceAll(/\W/g, '-')}.mts`), `${code}\nexport {}\n`)
  }
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2024', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  }
  writeFileSync(join(where, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*'] }))
  const said = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', where], { cwd: where }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  )
  expect(said).toBe('')
  expect(compiled.length).toBeGreaterThan(15)
})

describe('data', () => {
  it.each(of('data'))('$at', async (block) => {
    const parse: Record<string, (text: string) => unknown> = { json: JSON.parse, toml: parseToml }
    const value = (parse[block.language] ?? parseYaml)(block.code)
    expect(value).toBeInstanceOf(Object)
    const name = /^# (hookspan\.config\.\w+)/.exec(block.code)?.[1]
    if (name !== undefined) await expectConfig(name, block)
  })
})

async function expectConfig(name: string, { code }: Block): Promise<void> {
  const own = mkdtempSync(join(folder, 'config-'))
  writeFileSync(join(own, name), code, { mode: 0o600 })
  const env = Object.fromEntries(
    [...code.matchAll(/\$\{(\w+)\}/g)].map(([, variable]) => [variable, 'a value of sixteen']),
  )
  // A snippet may disable what a layer below it has.
  const disabled = [...code.matchAll(/^disable: \[(.*)\]/gm)].flatMap(([, ids = '']) => ids.split(/, */))
  const user = join(own, 'user.json')
  writeFileSync(user, JSON.stringify({ gates: disabled.map((id) => ({ id, type: 'loopGuard' })) }), {
    mode: 0o600,
  })
  const { entries } = await loadConfig({ file: join(own, name), userFile: user, env })
  expect(entries.length).toBeGreaterThan(0)
}
