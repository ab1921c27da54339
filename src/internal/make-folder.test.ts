import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { makeFolder } from './make-folder.ts'

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-make-folder-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

it('makes what is missing above, with the mode that is asked for, and takes what is there', () => {
  const root = temporary()
  const folder = join(root, 'a', 'b', 'c')
  makeFolder(folder, { mode: 0o700 })
  makeFolder(folder)
  expect(existsSync(folder)).toBe(true)
  if (process.platform !== 'win32') expect(statSync(join(root, 'a')).mode & 0o777).toBe(0o700)
})

it('says where a file is in the way', () => {
  const file = join(temporary(), 'file')
  writeFileSync(file, '')
  expect(() => makeFolder(join(file, 'folder'))).toThrow(/ENOTDIR.*file/)
})

it.runIf(process.platform === 'linux')(
  'fails where no folder can be made, instead of trying for ever',
  () => {
    const module = new URL('make-folder.ts', import.meta.url).href
    // A process of its own: what never returns cannot be timed out from within.
    const script = `import { makeFolder } from '${module}'; makeFolder('/proc/nowhere/spool')`
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      timeout: 60_000,
      killSignal: 'SIGKILL',
      encoding: 'utf8',
    })
    expect(child.signal).toBe(null)
    expect(child.stderr).toMatch(/Error: E[A-Z]+: .*mkdir '\/proc\/nowhere'/)
  },
)
