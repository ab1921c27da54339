import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { loadConfig } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { folder } from '../approval/support.ts'
import { type CliRun, runCli } from '../support/run-cli.ts'

function pipe(path: string): string {
  execFileSync('mkfifo', [path])
  return path
}

const ID = '0123456789abcdef0123456789abcdef'

const said = ({ code, stderr }: CliRun) => [code, stderr.split('\n')[0]]

describe.skipIf(process.platform === 'win32')('a file that is none', () => {
  const commands: [string, (file: string) => string[]][] = [
    ['replay', (file) => ['replay', file]],
    ['mocks from-trace', (file) => ['mocks', 'from-trace', file]],
    ['hooks test', (file) => ['hooks', 'test', file, '--no-user']],
    ['approvals verify', (file) => ['approvals', 'verify', file]],
    ['approvals audit', (file) => ['approvals', 'audit', file]],
    ['hooks list --config', (file) => ['hooks', 'list', '--no-user', '--config', file]],
    ['hooks check', (file) => ['hooks', 'check', '--no-user', file]],
  ]
  it.each(commands)('is an error of %s, and holds nothing up', async (_name, args) => {
    const place = folder()
    for (const file of [pipe(`${place}/pipe`), '/dev/zero', place]) {
      const [code, line] = said(await runCli(args(file), { cwd: place }))
      expect([file, code]).toEqual([file, expect.toBeOneOf([1, 2])])
      expect(line).toMatch(/it is (no regular file|no file|a folder)/)
    }
  })

  it('is an error where a config file is looked for, in every way', async () => {
    for (const name of ['hookspan.config.yaml', 'hookspan.config.ts', 'hookspan.config.json']) {
      const place = folder()
      pipe(`${place}/${name}`)
      mkdirSync(`${place}/below`)
      const [code, line] = said(await runCli(['hooks', 'list', '--no-user'], { cwd: `${place}/below` }))
      expect([code, line]).toEqual([2, expect.stringContaining(`${name}: it is no file.`)])
      await expect(loadConfig({ cwd: place, userFile: false })).rejects.toThrow('it is no file')
    }
    const place = folder()
    symlinkSync(`${place}/nowhere`, `${place}/hookspan.config.toml`)
    await expect(loadConfig({ cwd: place, userFile: false })).rejects.toThrow('a link that leads to nothing')
  })
})

describe.skipIf(process.platform === 'win32')('a file name', () => {
  it('acts on no terminal, and passes for no line of ours', async () => {
    const place = folder()
    const name = 'a\u001b[2K\u009b1A\u202eb\nhookspan: all is well\r'
    writeFileSync(`${place}/${name}.json`, '{')
    writeFileSync(`${place}/${name}.yaml`, 'gates: 1')
    const runs = [
      ['replay', `${name}.json`],
      ['replay', `${name}.none`],
      ['replay', `--${name}`],
      ['mocks', 'from-trace', `${name}.json`],
      ['hooks', 'list', '--no-user', '--config', `${name}.yaml`],
      ['hooks', 'test', `${name}.none`, '--no-user'],
      ['approvals', 'verify', `${name}.json`],
      ['approvals', 'audit', `${name}.json`],
      ['approvals', 'list', '--db', `${name}.db`],
      ['show', 'x', '--db', `${name}.db`],
    ]
    for (const args of runs) {
      const { stdout, stderr, code } = await runCli(args, { cwd: place })
      expect([args, code]).toEqual([args, expect.toBeOneOf([1, 2])])
      const all = stdout + stderr
      const acting = ['\u001b', '\u009b', '\u202e', '\r'].filter((sign) => all.includes(sign))
      expect([args, acting]).toEqual([args, []])
      expect(stderr).toContain('␛')
    }
    const { stderr } = await runCli(['replay', `${name}.json`], { cwd: place })
    expect(stderr).not.toMatch(/^hookspan: all is well/m)
  })
})

describe.skipIf(process.platform === 'win32')('a file that is to be written', () => {
  const trace = {
    data: [
      {
        traceID: ID,
        spans: [
          {
            traceID: ID,
            spanID: 'a',
            operationName: 'execute_tool search',
            startTime: 1,
            tags: [
              { key: 'gen_ai.operation.name', value: 'execute_tool' },
              { key: 'gen_ai.tool.name', value: 'search' },
              { key: 'gen_ai.tool.call.arguments', value: '{}' },
              { key: 'gen_ai.tool.call.result', value: 'three' },
            ],
          },
        ],
        processes: {},
      },
    ],
  }

  it('is written with the folders to it, or is named with what is in its way', async () => {
    const place = folder()
    writeFileSync(`${place}/trace.json`, JSON.stringify(trace))
    const fromTrace = (...more: string[]) =>
      runCli(['mocks', 'from-trace', 'trace.json', ...more], { cwd: place })
    const { code } = await fromTrace('--out', 'new/folder/calls.json', '--trajectory', 'other/way.json')
    expect(code).toBe(0)
    expect([existsSync(`${place}/new/folder/calls.json`), existsSync(`${place}/other/way.json`)]).toEqual([
      true,
      true,
    ])
    for (const option of ['--out', '--trajectory']) {
      expect(said(await fromTrace(option, 'trace.json/below.json'))).toEqual([
        2,
        expect.stringMatching(
          new RegExp(
            `Cannot write to "trace.json/below.json" .*ENOTDIR.* Give another file with ${option}\\.`,
          ),
        ),
      ])
    }
  })

  it('may be the standard output, and full', () => {
    const bin = new URL('../../dist/cli/bin.js', import.meta.url).pathname
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', '"$0" "$1" --help > /dev/full', process.execPath, bin],
      {
        encoding: 'utf8',
      },
    )
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^hookspan: cannot write to the standard output: .*ENOSPC.*\n$/),
    ])
  })
})
