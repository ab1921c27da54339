import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { deny, type Gate } from 'hookspan/gates'
import { type GateType, type LoadConfigOptions, loadConfig, useConfig } from 'hookspan/policies'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { callTool } from '../gates/support.ts'

function folder(files: Record<string, string>): string {
  const path = mkdtempSync(`${tmpdir()}/hookspan-config-`)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(new URL('.', `file://${path}/${name}`), { recursive: true })
    writeFileSync(`${path}/${name}`, text)
  }
  return path
}

const load = (files: Record<string, string>, more: LoadConfigOptions = {}) =>
  loadConfig({ cwd: folder(files), userFile: false, ...more })

const decide = async (gates: Gate[], args: unknown, apiName: string) => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'c', gates })
  return (await callTool(dispatcher.startOperation(), args, apiName)).outcome
}

const GATE = '  - { id: a, type: toolPolicy, deny: [shell] }\n'

describe('loadConfig', () => {
  const same: [string, string][] = [
    ['hookspan.config.yaml', `gates:\n${GATE}`],
    ['hookspan.config.yml', `gates:\n${GATE}`],
    ['hookspan.config.json', '{"gates":[{"id":"a","type":"toolPolicy","deny":["shell"]}]}'],
    ['hookspan.config.toml', '[[gates]]\nid = "a"\ntype = "toolPolicy"\ndeny = ["shell"]\n'],
    ['hookspan.config.mjs', "export default { gates: [{ id: 'a', type: 'toolPolicy', deny: ['shell'] }] }"],
    ['hookspan.config.cjs', "module.exports = { gates: [{ id: 'a', type: 'toolPolicy', deny: ['shell'] }] }"],
  ]
  it.each(same)('reads %s', async (name, text) => {
    const { plugin, entries, files } = await load({ [name]: text })
    expect(files).toEqual([expect.stringContaining(name)])
    expect(entries).toMatchObject([
      { kind: 'gate', id: 'a', type: 'toolPolicy', layer: 'project', active: true },
    ])
    expect(await decide(plugin.gates ?? [], {}, 'shell')).toMatchObject({ code: 'tool_not_allowed' })
  })

  it('finds the file in a folder above', async () => {
    const cwd = folder({ 'hookspan.config.yaml': `gates:\n${GATE}`, 'a/b/c.txt': '' })
    expect((await loadConfig({ cwd: `${cwd}/a/b`, userFile: false })).entries).toHaveLength(1)
  })

  it('is empty where there is no file, and fails where the one that is named is missing', async () => {
    expect((await load({})).entries).toEqual([])
    await expect(load({}, { file: 'none.yaml' })).rejects.toThrow('There is no config file')
  })

  it('gives up a module that waits for what never comes', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const waiting = load({ 'hookspan.config.mjs': 'await new Promise(() => {})' })
    const refused = expect(waiting).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('hookspan.config.mjs: the module cannot be loaded: it waits'),
    })
    await vi.advanceTimersByTimeAsync(30_000)
    await refused
  })

  it('lays the run over the project over the user, by id', async () => {
    const userFile = `${folder({ 'hookspan.config.yaml': `gates:\n${GATE}  - { id: u, type: loopGuard }\n` })}/hookspan.config.yaml`
    const project =
      'gates:\n  - { id: a, type: toolPolicy, deny: [mail] }\n  - { id: p, type: budget, maxSteps: 3, enabled: false }\n'
    const run = { gates: [{ id: 'r', type: 'redact' }], disable: ['u'] }
    const { entries, plugin } = await load({ 'hookspan.config.yaml': project }, { userFile, run })
    expect(entries.map(({ id, layer, active }) => [id, layer, active])).toEqual([
      ['u', 'user', false],
      ['a', 'project', true],
      ['p', 'project', false],
      ['r', 'run', true],
    ])
    expect(plugin.gates?.map((gate) => gate.id)).toEqual(['a', 'r'])
    expect(await decide(plugin.gates ?? [], {}, 'shell')).toMatchObject({ state: 'completed' })
  })

  it('lays the realm between the project and the run', async () => {
    const { entries, files } = await load(
      { 'hookspan.config.yaml': `gates:\n${GATE}  - { id: p, type: loopGuard }\n` },
      {
        realm: { gates: [{ id: 'a', type: 'toolPolicy', deny: ['mail'] }], disable: ['p'] },
        run: { gates: [{ id: 'p', type: 'loopGuard' }] },
      },
    )
    expect(entries.map(({ id, layer, active }) => [id, layer, active])).toEqual([
      ['a', 'realm', true],
      ['p', 'run', true],
    ])
    expect(files).toHaveLength(1)
    const wrong = load({}, { realm: { disable: ['nobody'] } })
    await expect(wrong).rejects.toThrow(/\(realm\).*there is no entry "nobody" to disable/)
  })

  it('fills variables in where they are named, in the fields that may hold them', async () => {
    const variable = (name: string) => `$${`{${name}}`}`
    const text = `gates:\n  - { id: h, type: http, point: onStart, url: "https://${variable('HOST')}/x", secret: "${variable('KEY')}" }\n  - { id: t, type: redact, in: [toolArguments], replacement: "${variable('HOST')}" }\n`
    const { plugin } = await load(
      { 'hookspan.config.yaml': text },
      { env: { HOST: 'guard.example', KEY: 'a long secret' } },
    )
    const gates = plugin.gates?.filter((gate) => gate.id === 't') ?? []
    expect(await decide(gates, { q: 'mara@example.org' }, 'search')).toMatchObject({
      result: { found: { q: variable('HOST') } },
    })
    await expect(load({ 'hookspan.config.yaml': text }, { env: { HOST: 'x.example' } })).rejects.toThrow(
      /yaml:2: the environment variable KEY is not set/,
    )
  })

  it('knows gate types of the user, and gates that a module brings', async () => {
    const weekday: GateType = {
      options: ['days'],
      create: ({ id, days }) => ({ id, point: 'onStart', decide: () => deny(String(days)) }),
    }
    const yaml = 'gates:\n  - { id: w, type: weekday, days: [sat] }\n'
    const { plugin } = await load({ 'hookspan.config.yaml': yaml }, { gateTypes: { weekday } })
    expect(plugin.gates?.[0]?.point).toBe('onStart')
    const js =
      "export default { gates: [{ id: 'own', point: 'onStart', decide: () => {} }], hooks: [{ id: 'h', type: 'onComplete', handler: () => {} }] }"
    const own = await load({ 'hookspan.config.mjs': js })
    expect(own.entries).toMatchObject([
      { id: 'own', type: 'function' },
      { id: 'h', type: 'function' },
    ])
    expect(own.plugin.hooks).toHaveLength(1)
  })

  it('makes webhooks out of entries', async () => {
    const text =
      'hooks:\n  - { id: audit, type: webhook, on: onComplete, url: "https://a.example/", deadLetterPath: d.jsonl }\n'
    expect((await load({ 'hookspan.config.yaml': text })).plugin.hooks).toMatchObject([
      { id: 'audit', type: 'onComplete' },
    ])
  })

  it('takes what an entry merges, and what it says itself before that', async () => {
    const base = '  - &base { id: a, type: toolPolicy, deny: [shell] }\n'
    const { entries, plugin } = await load({
      'hookspan.config.yaml': `gates:\n${base}  - <<: *base\n    id: b\n    deny: [rm]\n`,
    })
    expect(entries.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(await decide(plugin.gates ?? [], {}, 'rm')).toMatchObject({ code: 'tool_not_allowed' })
    expect(await decide(plugin.gates ?? [], {}, 'shell')).toMatchObject({ code: 'tool_not_allowed' })
  })

  it('makes one webhook entry a hook for each of its types', async () => {
    const text =
      'hooks:\n  - { id: ops, type: webhook, on: [onComplete, onError], fields: [operationId], url: "https://a.example/" }\n'
    const { plugin, entries } = await load({ 'hookspan.config.yaml': text })
    expect(plugin.hooks).toMatchObject([
      { id: 'ops:onComplete', type: 'onComplete' },
      { id: 'ops:onError', type: 'onError' },
    ])
    expect(entries).toHaveLength(1)
    const off = await load({ 'hookspan.config.yaml': text }, { run: { disable: ['ops'] } })
    expect(off.plugin.hooks).toEqual([])
  })

  const wrong: [string, string, string, RegExp][] = [
    [
      'an unknown type',
      'yaml',
      'gates:\n  - id: a\n    type: toolPolicies\n',
      /:3: unknown gate type `"toolPolicies"`.*Did you mean "toolPolicy"\?/,
    ],
    [
      'a misspelt field',
      'yaml',
      'gates:\n  - id: a\n    type: toolPolicy\n    denny: []\n',
      /:4: unknown field of gate "a" `"denny"`.*Did you mean "deny"\?/,
    ],
    ['a misspelt list', 'yaml', 'gate:\n  - id: a\n', /:2: unknown field of the config `"gate"`.*"gates"/],
    [
      'an unknown point',
      'json',
      '{"gates":[\n{"id":"a","type":"command","command":"x",\n"point":"beforeToolCal"}]}',
      /:3: unknown gate point.*Did you mean "beforeToolCall"\?/,
    ],
    ['no id', 'yaml', 'gates:\n  - type: budget\n', /:2: expected `id`/],
    [
      'two of one id',
      'yaml',
      'gates:\n  - { id: a, type: loopGuard }\n  - { id: a, type: redact }\n',
      /:3: two entries have the id "a"/,
    ],
    [
      'a wrong type',
      'yaml',
      'gates:\n  - id: a\n    type: budget\n    maxCostUsd: much\n',
      /:2: Expected `maxCostUsd`/,
    ],
    ['a wrong version', 'yaml', 'version: 2\n', /:1: expected `version` 1/],
    [
      'an id that is not there to disable',
      'yaml',
      'gates:\n  - { id: audit, type: loopGuard }\ndisable:\n  - audits\n',
      /:4: there is no entry "audits".*Did you mean "audit"\?/,
    ],
    ['broken YAML', 'yaml', 'gates:\n  - { id: a\n', /yaml:\d/],
    ['the same key twice', 'yaml', 'gates: []\ngates: []\n', /:2: Map keys must be unique/],
    ['broken TOML', 'toml', 'version = 1\n[[gates]\n', /:2: /],
    [
      'a misspelt field in TOML',
      'toml',
      '[[gates]]\nid = "x"\ntype = "loopGuard"\n\n[[gates]]\nid = "a"\ntype = "budget"\nmaxStep = 1\n',
      /:8: unknown field.*"maxSteps"/,
    ],
    ['a list', 'yaml', '- a\n', /expected an object/],
    [
      'a hook of an unknown event',
      'yaml',
      'hooks:\n  - { id: h, type: webhook, on: onFinish, url: "https://a.example/" }\n',
      /:2: Unknown hook type/,
    ],
    [
      'a gate that cannot be made',
      'yaml',
      'gates:\n  - { id: h, type: http, point: onStart, url: "ftp://x" }\n',
      /:2: Expected `url`/,
    ],
  ]
  it.each(wrong)('names file, line and mend for %s', async (_name, kind, text, message) => {
    await expect(load({ [`hookspan.config.${kind}`]: text })).rejects.toThrow(message)
    await expect(load({ [`hookspan.config.${kind}`]: text })).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
    })
  })

  it.each(['latin1', 'utf16le'] as const)('refuses a file that is written in %s', async (encoding) => {
    const cwd = folder({ 'hookspan.config.yaml': '' })
    const text = 'gates:\n  - { id: a, type: toolPolicy, deny: [löschen] }\n'
    const bytes = Buffer.from(encoding === 'utf16le' ? `\ufeff${text}` : text, encoding)
    writeFileSync(`${cwd}/hookspan.config.yaml`, bytes)
    await expect(loadConfig({ cwd, userFile: false })).rejects.toThrow('Save it as UTF-8')
  })

  it('looks for commands beside the file', async () => {
    const file = fileURLToPath(new URL('../../examples/policies/hookspan.config.toml', import.meta.url))
    const { plugin } = await loadConfig({ file, userFile: false })
    expect(await decide(plugin.gates ?? [], { hour: 3 }, 'call')).toMatchObject({ code: 'office_hours' })
    expect(await decide(plugin.gates ?? [], { hour: 9 }, 'call')).toMatchObject({ state: 'completed' })
  })

  it('refuses a file that others can change, or that is somewhere else than it seems', async () => {
    const open = folder({ 'hookspan.config.yaml': '' })
    chmodSync(`${open}/hookspan.config.yaml`, 0o666)
    await expect(loadConfig({ cwd: open, userFile: false })).rejects.toThrow('everybody may write')
    const linked = folder({})
    symlinkSync(`${folder({ 'evil.yaml': `gates:\n${GATE}` })}/evil.yaml`, `${linked}/hookspan.config.yaml`)
    await expect(loadConfig({ cwd: linked, userFile: false })).rejects.toThrow('a link that leads out')
  })
})

it('names a folder that stands where the config file is looked for', async () => {
  const cwd = folder({ 'hookspan.config.yaml/x': '', 'below/y': '' })
  const problem = { code: 'INVALID_CONFIG', message: `${cwd}/hookspan.config.yaml: it is no file.` }
  await expect(loadConfig({ cwd, userFile: false })).rejects.toMatchObject(problem)
  await expect(loadConfig({ cwd: `${cwd}/below`, userFile: false })).rejects.toMatchObject(problem)
  const env = { HOOKSPAN_CONFIG_HOME: cwd }
  await expect(loadConfig({ cwd: folder({}), env })).rejects.toMatchObject(problem)
})

describe('useConfig', () => {
  const write = (cwd: string, tool: string) =>
    writeFileSync(`${cwd}/hookspan.config.yaml`, `gates:\n  - { id: a, type: toolPolicy, deny: [${tool}] }\n`)

  it('takes what changed for runs under way, and keeps what was active when the change is wrong', async () => {
    const cwd = folder({})
    write(cwd, 'one')
    const dispatcher = new HookDispatcher()
    const errors: unknown[] = []
    const options = {
      cwd,
      userFile: false as const,
      watch: true,
      onError: (error: unknown) => void errors.push(error),
    }
    using inUse = await useConfig(dispatcher, options)
    const op = dispatcher.startOperation()
    const state = async (tool: string) => (await callTool(op, {}, tool)).outcome.state
    expect([await state('one'), await state('two')]).toEqual(['denied', 'completed'])
    write(cwd, 'two')
    await expect.poll(() => state('two')).toBe('denied')
    expect(await state('one')).toBe('completed')
    writeFileSync(`${cwd}/hookspan.config.yaml`, 'gates: [{ id: a, type: nothing }]')
    await expect.poll(() => errors.length).toBeGreaterThan(0)
    expect(await state('two')).toBe('denied')
    expect(inUse.current.entries).toHaveLength(1)
  })

  it('loads again when it is asked to, and takes the gates out when it is disposed', async () => {
    const cwd = folder({})
    write(cwd, 'one')
    const dispatcher = new HookDispatcher()
    const inUse = await useConfig(dispatcher, { cwd, userFile: false })
    write(cwd, 'two')
    await inUse.reload()
    const op = dispatcher.startOperation()
    expect((await callTool(op, {}, 'two')).outcome.state).toBe('denied')
    inUse[Symbol.dispose]()
    expect((await callTool(op, {}, 'two')).outcome.state).toBe('completed')
  })

  it.each(['mjs', 'cjs'])('loads a module again that has changed: %s', async (kind) => {
    const tool = (name: string) => `{ gates: [{ id: 'a', type: 'toolPolicy', deny: ['${name}'] }] }`
    const text = (name: string) => `${kind === 'cjs' ? 'module.exports =' : 'export default'} ${tool(name)}`
    const file = `hookspan.config.${kind}`
    const cwd = folder({ [file]: text('one') })
    const dispatcher = new HookDispatcher()
    using inUse = await useConfig(dispatcher, { cwd, userFile: false })
    writeFileSync(`${cwd}/${file}`, text('two'))
    await inUse.reload()
    const op = dispatcher.startOperation()
    expect((await callTool(op, {}, 'two')).outcome.state).toBe('denied')
  })

  it('takes a file that is made later by reload() alone: nobody else puts guards in or out', async () => {
    const cwd = folder({})
    const dispatcher = new HookDispatcher()
    using inUse = await useConfig(dispatcher, { cwd, userFile: false, watch: true })
    const op = dispatcher.startOperation()
    const state = async () => (await callTool(op, {}, 'one')).outcome.state
    write(cwd, 'one')
    await delay(300)
    expect(await state()).toBe('completed')
    await inUse.reload()
    expect(await state()).toBe('denied')
  })

  it('has no file of a user whose home is no folder, as /dev/null, and says so of a folder that is a file', async () => {
    const cwd = folder({ 'a-file': '' })
    const load = (HOOKSPAN_CONFIG_HOME: string) => loadConfig({ cwd, env: { HOOKSPAN_CONFIG_HOME } })
    expect((await load(`${cwd}/a-file/.config/hookspan`)).files).toEqual([])
    await expect(load(`${cwd}/a-file`)).rejects.toThrow('ENOTDIR')
  })

  it('takes a change of what the file is a link to, as Kubernetes mounts a ConfigMap', async () => {
    const cwd = folder({})
    const mount = (revision: string, tool: string) => {
      mkdirSync(`${cwd}/..${revision}`)
      write(`${cwd}/..${revision}`, tool)
      symlinkSync(`..${revision}`, `${cwd}/..data_tmp`)
      renameSync(`${cwd}/..data_tmp`, `${cwd}/..data`)
    }
    mount('2026_11_25_1', 'one')
    symlinkSync('..data/hookspan.config.yaml', `${cwd}/hookspan.config.yaml`)
    const dispatcher = new HookDispatcher()
    using _inUse = await useConfig(dispatcher, { cwd, userFile: false, watch: true })
    const op = dispatcher.startOperation()
    const state = async (tool: string) => (await callTool(op, {}, tool)).outcome.state
    expect(await state('one')).toBe('denied')
    mount('2026_11_25_2', 'two')
    await expect.poll(() => state('two')).toBe('denied')
    // The folder it is in now is another one, and is watched, too.
    write(`${cwd}/..2026_11_25_2`, 'three')
    await expect.poll(() => state('three')).toBe('denied')
  })

  it.each<[string, (cwd: string) => void]>([
    [
      'a link, which is put anew',
      (cwd) => {
        symlinkSync('two', `${cwd}/next`)
        renameSync(`${cwd}/next`, `${cwd}/here`)
      },
    ],
    [
      'removed, and another is put in its place',
      (cwd) => {
        rmSync(`${cwd}/here`)
        renameSync(`${cwd}/two`, `${cwd}/here`)
      },
    ],
  ])('takes a change where the folder of the file is %s', async (_name, change) => {
    const cwd = folder({})
    for (const tool of ['one', 'two']) {
      mkdirSync(`${cwd}/${tool}`)
      write(`${cwd}/${tool}`, tool)
    }
    symlinkSync('one', `${cwd}/here`)
    const dispatcher = new HookDispatcher()
    using _inUse = await useConfig(dispatcher, { cwd: `${cwd}/here`, userFile: false, watch: true })
    const op = dispatcher.startOperation()
    const state = async (tool: string) => (await callTool(op, {}, tool)).outcome.state
    expect(await state('one')).toBe('denied')
    change(cwd)
    await expect.poll(() => state('two')).toBe('denied')
    write(`${cwd}/here`, 'three')
    await expect.poll(() => state('three')).toBe('denied')
  })

  it('loads a module again that was written anew and kept its time', async () => {
    const cwd = folder({})
    const file = `${cwd}/hookspan.config.mjs`
    const put = (tool: string) => {
      writeFileSync(file, `export default { gates: [{ id: 'a', type: 'toolPolicy', deny: ['${tool}'] }] }`)
      utimesSync(file, 1_000_000_000, 1_000_000_000)
    }
    put('one')
    const dispatcher = new HookDispatcher()
    using inUse = await useConfig(dispatcher, { cwd, userFile: false })
    put('two')
    await inUse.reload()
    expect((await callTool(dispatcher.startOperation(), {}, 'two')).outcome.state).toBe('denied')
  })

  it('ends with what was read last, however long a load before it takes', async () => {
    const deny = (tool: string) =>
      `export default { gates: [{ id: 'a', type: 'toolPolicy', deny: ['${tool}'] }] }`
    const cwd = folder({ 'hookspan.config.mjs': deny('first') })
    const dispatcher = new HookDispatcher()
    using inUse = await useConfig(dispatcher, { cwd, userFile: false })
    const { promise, resolve } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const slowConfig = () => {
      begin()
      return promise
    }
    Object.assign(globalThis, { slowConfig })
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'slowConfig'))
    writeFileSync(`${cwd}/hookspan.config.mjs`, `await slowConfig()\n${deny('old')}`)
    const slow = inUse.reload()
    await begun
    writeFileSync(`${cwd}/hookspan.config.mjs`, deny('new'))
    const quick = inUse.reload()
    // Time for it to be done first, where it does not wait for the one before.
    await Promise.race([quick, new Promise((done) => setTimeout(done, 200))])
    resolve()
    await Promise.all([slow, quick])
    expect((await callTool(dispatcher.startOperation(), {}, 'new')).outcome.state).toBe('denied')
  })

  it('brings nothing back that was disposed while it loaded', async () => {
    const cwd = folder({})
    write(cwd, 'one')
    const dispatcher = new HookDispatcher()
    const inUse = await useConfig(dispatcher, { cwd, userFile: false })
    const loading = inUse.reload()
    inUse[Symbol.dispose]()
    await expect(loading).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await expect(inUse.reload()).rejects.toMatchObject({ code: 'INVALID_STATE' })
    expect((await callTool(dispatcher.startOperation(), {}, 'one')).outcome.state).toBe('completed')
  })

  it('keeps the guards of a file that is gone or empty, and says so', async () => {
    const cwd = folder({})
    write(cwd, 'one')
    const file = `${cwd}/hookspan.config.yaml`
    const dispatcher = new HookDispatcher()
    const errors: string[] = []
    const onError = (error: unknown) => void errors.push(String(error))
    using inUse = await useConfig(dispatcher, { cwd, userFile: false, watch: true, onError })
    const op = dispatcher.startOperation()
    // What an editor that writes a file in two steps leaves for a moment.
    for (const [index, text] of ['\n', '# The guards of the team\n', '---\n', 'version: 1\n'].entries()) {
      writeFileSync(file, text)
      await expect.poll(() => errors.length).toBe(index + 1)
      expect(errors[index]).toContain('is empty now')
    }
    rmSync(file)
    await expect.poll(() => errors.length).toBe(5)
    expect(errors[4]).toContain('is gone')
    expect((await callTool(op, {}, 'one')).outcome.state).toBe('denied')
    await expect(inUse.reload()).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
    writeFileSync(file, 'gates: []')
    await inUse.reload()
    expect((await callTool(op, {}, 'one')).outcome.state).toBe('completed')
  })

  it('keeps its place among the gates when it loads again', async () => {
    const cwd = folder({})
    write(cwd, 'one')
    const dispatcher = new HookDispatcher()
    using inUse = await useConfig(dispatcher, { cwd, userFile: false })
    dispatcher.use({
      name: 'after',
      gates: [{ id: 'after', point: 'beforeToolCall', decide: () => deny('after') }],
    })
    const op = dispatcher.startOperation()
    await inUse.reload()
    expect((await callTool(op, {}, 'one')).outcome).toMatchObject({ code: 'tool_not_allowed' })
  })
})

it('refuses two config files in one folder, of which one would be left out', async () => {
  const cwd = folder({ 'hookspan.config.json': '{}', 'hookspan.config.yaml': 'gates: []' })
  await expect(loadConfig({ cwd, userFile: false })).rejects.toThrow(
    /hookspan\.config\.json.*hookspan\.config\.yaml/,
  )
  const file = 'hookspan.config.yaml'
  expect((await loadConfig({ cwd, userFile: false, file })).files).toEqual([`${cwd}/${file}`])
})
