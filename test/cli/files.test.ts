import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { loadConfig } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { folder } from '../approval/support.ts'
import { type CliRun, runCli } from '../support/run-cli.ts'

function pipe(path: string): string {
  execFileSync('mkfifo', [path])
  return path
}

const said = ({ code, stderr }: CliRun) => [code, stderr.split('\n')[0]]

describe.skipIf(process.platform === 'win32')('a file that is none', () => {
  const commands: [string, (file: string) => string[]][] = [
    ['replay', (file) => ['replay', file]],
    ['mocks from-trace', (file) => ['mocks', 'from-trace', file]],
    ['hooks test', (file) => ['hooks', 'test', file, '--no-user']],
    ['approvals verify', (file) => ['approvals', 'verify', file]],
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
