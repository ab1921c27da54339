import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig, loadConfigSync } from 'hookspan/policies'
import { expect, it, onTestFinished } from 'vitest'

function folder(name: string, text: string): string {
  const path = mkdtempSync(join(tmpdir(), 'hookspan-config-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  mkdirSync(join(path, 'below'))
  writeFileSync(join(path, name), text)
  return path
}

const YAML = 'gates:\n  - { id: a, type: toolPolicy, deny: [shell] }\n'

it.each([
  ['hookspan.config.yaml', YAML],
  ['hookspan.config.json', '{"gates":[{"id":"a","type":"toolPolicy","deny":["shell"]}]}'],
  ['hookspan.config.toml', '[[gates]]\nid = "a"\ntype = "toolPolicy"\ndeny = ["shell"]\n'],
])('gives at once what loadConfig gives: %s', async (name, text) => {
  const options = { cwd: join(folder(name, text), 'below'), userFile: false, required: true } as const
  const { files, entries } = loadConfigSync(options)

  expect(entries).toMatchObject([{ id: 'a', type: 'toolPolicy', active: true }])
  const waited = await loadConfig(options)
  expect([files, entries.length]).toEqual([waited.files, waited.entries.length])
})

it('lays what the run says over the file', () => {
  const cwd = folder('hookspan.config.yaml', YAML)
  expect(loadConfigSync({ cwd, userFile: false, run: { disable: ['a'] } }).plugin.gates).toEqual([])
})

it('refuses a module, which has to be waited for, rather than leave its guards out', () => {
  const cwd = folder('hookspan.config.mjs', 'export default { gates: [] }')
  expect(() => loadConfigSync({ cwd, userFile: false })).toThrow(
    /hookspan\.config\.mjs: a module has to be waited for: use loadConfig\(\), or a yaml file\./,
  )
})

it('refuses a project without a file where one is required', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-config-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const missing = { code: 'INVALID_CONFIG', message: expect.stringContaining(`hookspan.config.* in ${cwd}`) }

  expect(loadConfigSync({ cwd, userFile: false }).entries).toEqual([])
  expect(() => loadConfigSync({ cwd, userFile: false, required: true })).toThrow(
    expect.objectContaining(missing),
  )
  await expect(loadConfig({ cwd, userFile: false, required: true })).rejects.toMatchObject(missing)
})
