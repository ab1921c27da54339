import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCli } from '../support/run-cli.ts'

/** As in a container that runs as a number: no file knows its name, and with HOME unset it has no home. */
const NOBODY = `
  import os from 'node:os'
  import { syncBuiltinESMExports } from 'node:module'
  os.homedir = os.userInfo = () => { throw new Error('ENOENT: no such user') }
  syncBuiltinESMExports()`
const env = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(NOBODY)}`,
  HOOKSPAN_CONFIG_HOME: '',
}

describe('a user without a name and a home', () => {
  function project(): string {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-nobody-'))
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
    writeFileSync(
      join(cwd, 'hookspan.config.json'),
      '{"gates":[{"id":"a","type":"toolPolicy","deny":["wipe"]}]}',
    )
    writeFileSync(join(cwd, 'agent.mjs'), "console.log('ran')")
    return cwd
  }

  it('has the commands, and the guards of the project', async () => {
    const cwd = project()
    expect(await runCli(['hooks', 'check'], { cwd, env })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ok +a /),
    })
    const { code, stdout } = await runCli(['run', '--', process.execPath, 'agent.mjs'], { cwd, env })
    expect([code, stdout]).toEqual([0, 'ran\n'])
  })

  it('is told how to name a place for traces', async () => {
    const cwd = project()
    const { code, stderr } = await runCli(['runs'], { cwd, env: { ...env, XDG_DATA_HOME: '' } })
    expect([code, stderr]).toEqual([2, expect.stringContaining('Set HOOKSPAN_HOME to a folder')])
    expect(
      (await runCli(['runs'], { cwd, env: { ...env, HOOKSPAN_HOME: join(cwd, 'data') } })).stderr,
    ).not.toContain('home')
  })
})
