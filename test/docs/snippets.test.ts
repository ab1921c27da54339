/** Each block of code of the pages is run, compiled or looked up; which way is in docs/snippets.md. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadConfig } from 'hookspan/policies'
import { parse as parseToml } from 'smol-toml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { createProgram } from '../../src/cli/program.ts'
import { startCollector } from '../support/collector.ts'
import { BLOCKS, type Block, kindOf, ROOT, STALE } from './blocks.ts'

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
  const kinds = Map.groupBy(BLOCKS, kindOf)
  console.log([...kinds].map(([kind, { length }]) => `${kind}: ${length}`).join(', '))
  expect(BLOCKS.length).toBeGreaterThan(60)
  expect(STALE).toEqual([])
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
  const compiled = of('checked by types')
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

describe('commands', () => {
  const lines = of('command').flatMap(({ at, code }) =>
    code
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')
      .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
      .filter((line) => line !== '')
      .map((line) => ({ at, line })),
  )

  it.each(lines)('$at: $line', ({ line }) => {
    const words = line.split(/\s+/).filter((word) => !/^[A-Z_]+=/.test(word))
    const [program = '', ...rest] = words
    if (program === 'npx')
      return expectCommand(rest.filter((word) => !['--no-install', '-y', '--yes'].includes(word)))
    if (program === 'npm') return expectNpm(rest)
    expect(['node', 'export'], 'a program that nobody looks at needs a row in docs/snippets.md').toContain(
      program,
    )
  })
})

function expectNpm([verb = '', ...rest]: string[]): void {
  if (verb === 'run') {
    expect(Object.keys(manifest.scripts)).toContain(rest[0])
    return
  }
  expect(['install', 'i', 'test', 'ci']).toContain(verb)
  const { dependencies, devDependencies, peerDependencies } = manifest
  const known = Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies, hookspan: '' })
  const names = rest.filter((word) => !word.startsWith('-')).map((word) => word.replace(/(?<=.)@[^/]*$/, ''))
  expect(known).toEqual(expect.arrayContaining(names))
}

/** Whether there is such a command, with such flags and so many arguments. */
function expectCommand([name = '', ...words]: string[]): void {
  if (name === 'vitest' || name === 'tsx') return
  expect(name).toBe('hookspan')
  let command = createProgram()
  let left = words
  for (let next = command; next !== undefined; ) {
    command = next
    const found = command.commands.find((one) => one.name() === left[0])
    if (found === undefined) break
    left = left.slice(1)
    next = found
  }
  expect(
    command.name() === 'hookspan' && left[0] !== undefined && !left[0].startsWith('-'),
    `no such command: ${words}`,
  ).toBe(false)
  // What stands behind `run --` is somebody else's.
  const own = left.includes('--') ? left.slice(0, left.indexOf('--')) : left
  for (const flag of own.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0])) {
    const flags = command.options.flatMap(({ long, short }) => [long, short])
    expect([...flags, '--help', '-h']).toContain(flag)
  }
  const needed = command.registeredArguments.filter(({ required }) => required).length
  const help = own.includes('--help')
  if (!help) expect(left.filter((word) => !word.startsWith('-')).length).toBeGreaterThanOrEqual(needed)
}

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
