import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCli } from '../support/run-cli.ts'

const EXAMPLE = fileURLToPath(new URL('../../examples/durable/', import.meta.url))
const CONFIG = `${EXAMPLE}refunds.ts`

function folder(): string {
  const path = mkdtempSync(`${tmpdir()}/hookspan-durable-`)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function start(place: string, env: Record<string, string> = {}) {
  return spawnSync(process.execPath, ['--no-warnings', `${EXAMPLE}start.ts`], {
    encoding: 'utf8',
    env: { ...process.env, REFUNDS_FOLDER: place, ...env },
  })
}

describe('hookspan resume', () => {
  it('goes on with a run whose process was killed while it paid, and nothing is paid twice', async () => {
    const place = folder()
    const env = { REFUNDS_FOLDER: place, NODE_NO_WARNINGS: '1' }
    expect(start(place, { CUT: '1' }).signal).toBe('SIGKILL')
    const list = await runCli(['runs', '--unfinished', '--config', CONFIG], { env })
    expect(list.stdout).toMatch(/^refund-7\s+refunds\s+died\s+0 steps\s+saved /)
    const json = await runCli(
      ['runs', '--unfinished', '--checkpoints', `${place}/checkpoints.db`, '--json'],
      { env },
    )
    expect(JSON.parse(json.stdout)).toMatchObject([{ operationId: 'refund-7', state: 'died' }])

    const resumed = await runCli(['resume', 'refund', '--config', CONFIG, '--json'], { env })
    expect([resumed.code, resumed.stderr]).toEqual([0, ''])
    expect(JSON.parse(resumed.stdout)).toMatchObject({
      operationId: 'refund-7',
      status: 'done',
      content: 'It is refunded.',
      steps: 2,
    })
    expect(readdirSync(place).filter((name) => name.endsWith('.receipt'))).toEqual([
      'refund-7%3Acall-1.receipt',
    ])
    const after = await runCli(['runs', '--unfinished', '--config', CONFIG], { env })
    expect(after.stdout).toBe('Every run has ended.\n')
    const again = await runCli(['resume', 'refund-7', '--config', CONFIG], { env })
    expect([again.code, again.stderr]).toEqual([
      2,
      expect.stringContaining('There is no unfinished run "refund-7"'),
    ])
  })

  it('forgets a run that is not to go on', async () => {
    const place = folder()
    const env = { REFUNDS_FOLDER: place, NODE_NO_WARNINGS: '1' }
    start(place, { CUT: '1' })
    const discarded = await runCli(['resume', 'refund-7', '--discard', '--config', CONFIG], { env })
    expect([discarded.code, discarded.stdout]).toEqual([0, 'refund-7 is forgotten.\n'])
    expect((await runCli(['runs', '--unfinished', '--config', CONFIG], { env })).stdout).toMatch(/Every run/)
    const done = start(place)
    expect(done.stdout).toBe('done - 40 EUR, booked under refund-7:call-1 - It is refunded.\n')
  })

  it('says what is missing', async () => {
    const place = folder()
    const env = { HOOKSPAN_HOME: place, NODE_NO_WARNINGS: '1' }
    writeFileSync(`${place}/no-agent.mjs`, 'export default { checkpoint: true }\n')
    writeFileSync(`${place}/broken.mjs`, 'export default {\n')
    for (const [args, message] of [
      [['resume', 'x'], /There is no unfinished run "x"/],
      [
        ['resume', 'x', '--config', `${place}/none.mjs`],
        /cannot be loaded: ENOENT.* Give a JavaScript or TypeScript module with `export default/,
      ],
      [['resume', 'x', '--config', `${place}/broken.mjs`], /cannot be loaded/],
      [['resume', 'x', '--config', `${place}/no-agent.mjs`], /default export with an `agent`/],
      [['runs', '--unfinished', '--checkpoints', `${place}/none.db`], /There is no file/],
    ] as const) {
      const { code, stderr } = await runCli(args, { env })
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
    }
    expect((await runCli(['runs', '--unfinished'], { env })).stdout).toBe('Every run has ended.\n')
  })
})
