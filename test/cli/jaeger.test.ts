import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isJaeger } from '../../src/tracing/links/collector.ts'
import { runCli } from '../support/run-cli.ts'

const compose = readFileSync(new URL('../../docker-compose.jaeger.yml', import.meta.url), 'utf8')
const jaegerRuns = await isJaeger('http://localhost:16686')

describe('hookspan jaeger', () => {
  let cwd: string
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'hookspan-jaeger-cli-'))
  })
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))

  /** A `docker` that writes down how it is called, and answers by its first word. Alone on the PATH. */
  function fakeDocker(name: string, answers: string): { PATH: string; calls(): string[] } {
    const folder = join(cwd, name)
    const log = join(folder, 'calls')
    mkdirSync(folder)
    writeFileSync(join(folder, 'docker'), `#!/bin/sh\necho "$@" >> '${log}'\n${answers}\n`)
    chmodSync(join(folder, 'docker'), 0o755)
    return { PATH: folder, calls: () => readFileSync(log, 'utf8').trim().split('\n') }
  }

  it('prints the compose file that ships', async () => {
    const { code, stdout, stderr } = await runCli(['jaeger', '--print'], { cwd })
    expect([code, stdout, stderr]).toEqual([0, compose, ''])
  })

  it('writes it, once, and never over another file', async () => {
    const first = await runCli(['jaeger', '--write'], { cwd })
    expect(first.stdout).toContain('docker compose -f docker-compose.jaeger.yml up -d --wait')
    expect(readFileSync(join(cwd, 'docker-compose.jaeger.yml'), 'utf8')).toBe(compose)
    expect((await runCli(['jaeger', '--write'], { cwd })).code).toBe(0)

    writeFileSync(join(cwd, 'mine.yml'), 'services: {}\n')
    const refused = await runCli(['jaeger', '--write', 'mine.yml'], { cwd })
    expect(refused.stderr).toContain('mine.yml is there already and says something else')
    expect(refused.code).toBe(2)
    expect(readFileSync(join(cwd, 'mine.yml'), 'utf8')).toBe('services: {}\n')

    const nowhere = await runCli(['jaeger', '--write', 'no/such/folder.yml'], { cwd })
    expect(nowhere.stderr).toContain('Cannot write no/such/folder.yml')
    expect(nowhere.code).toBe(2)
  })

  it('refuses flags that exclude each other', async () => {
    const { code, stderr } = await runCli(['jaeger', '--print', '--stop'], { cwd })
    expect(stderr).toContain('--print and --stop exclude each other')
    expect(code).toBe(2)
  })

  describe.skipIf(jaegerRuns || process.platform === 'win32')('where no Jaeger runs', () => {
    it('starts it where Docker answers, and says where it is', async () => {
      const { PATH, calls } = fakeDocker('answers', 'echo noise')
      const { code, stdout } = await runCli(['jaeger'], { cwd, env: { PATH } })
      expect(stdout).toContain('Jaeger is up  http://localhost:16686')
      expect(stdout).toContain('http://localhost:4318')
      expect(stdout).not.toContain('noise')
      expect(code).toBe(0)
      expect(calls().at(-1)).toMatch(/^compose -f \/.*docker-compose\.jaeger\.yml up -d --wait$/)
    })

    it('stops it', async () => {
      const { PATH, calls } = fakeDocker('stops', '')
      expect((await runCli(['jaeger', '--stop'], { cwd, env: { PATH } })).code).toBe(0)
      expect(calls().at(-1)).toMatch(/ down$/)
    })

    it.each([
      ['is-away', 'exit 1', 'Docker does not answer; is it running?'],
      ['has-no-compose', 'test "$1" = version', 'Docker has no `compose` here.'],
    ])(
      'prints the compose file where Docker %s, says why, and does not count as done',
      async (name, answers, why) => {
        const { PATH } = fakeDocker(name, answers)
        const { code, stdout, stderr } = await runCli(['jaeger'], { cwd, env: { PATH } })
        expect(stdout).toBe(compose)
        expect(stderr).toContain(`Nothing was started: ${why}`)
        expect(code).toBe(1)
      },
    )

    it('prints it where Docker is not installed', async () => {
      const { code, stdout, stderr } = await runCli(['jaeger'], { cwd, env: { PATH: cwd } })
      expect(stdout).toBe(compose)
      expect(stderr).toContain('Nothing was started: Docker is not installed.')
      expect(code).toBe(1)
    })

    it('says that Docker could not start it', async () => {
      const { PATH } = fakeDocker('refuses', 'test "$2" != -f || { echo "port is taken" >&2; exit 1; }')
      const { code, stderr } = await runCli(['jaeger'], { cwd, env: { PATH } })
      expect(stderr).toMatch(/port is taken[\s\S]*Jaeger did not start/)
      expect(code).toBe(1)
    })
  })
})
