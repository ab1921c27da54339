/** A Postgres whose disk is full while a run is on: the run waits, nothing is run twice, and it ends once there is room. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { smallDisk } from '../chaos/support/small-disk.ts'
import { DbosScene } from './support/dbos-scene.ts'
import { expectHeld } from './support/held.ts'
import { Postgres, postgresPrograms, WITHOUT_POSTGRES } from './support/postgres.ts'
import { begins, type Ended, toldBy } from './support/scene.ts'

const MIB = 1024 * 1024
/** What an empty one takes, its log of writes with it, and some room. */
const DISK = 192 * MIB
/** More than what is left in the pages that it has. */
const RESULT_BYTES = String(256 * 1024)

it.skipIf(postgresPrograms === undefined).for(['agent', 'loop'])(
  `a durable %s goes on when Postgres has room again${WITHOUT_POSTGRES}`,
  { timeout: 180_000 },
  async (what, { skip }) => {
    const disk = smallDisk(DISK)
    if (disk === undefined) return skip('it takes the right to mount a tmpfs')
    onTestFinished(() => disk[Symbol.dispose]())
    const postgres = await Postgres.start(`${disk.path}/postgres`)
    onTestFinished(() => postgres.stop())
    const scene = new DbosScene(postgres, what)
    const full = `${scene.folder}/full`
    scene.start({ TOOLS_UNTIL: full, RESULT_BYTES })
    const human = scene.human()
    await scene.said(begins('write'))
    const ballast = fill(disk.path)
    writeFileSync(full, '')
    const log = () => readFileSync(`${disk.path}/postgres/log`, 'utf8')
    await expect.poll(log).toContain('No space left on device')
    // What came of the tools cannot be kept: nothing that depends on it was begun.
    expect(scene.lines.filter(begins('delete'))).toEqual([])
    for (const path of ballast) rmSync(path)
    // Where not even its log could be written, it has ended itself.
    await postgres.start()
    const ended = await scene.output<Ended>()
    await human.goes()
    expect(ended.reason).toBe('done')
    expectHeld(expect, { lines: scene.lines, operationId: scene.id, told: toldBy(ended), kills: 1 })
    await scene.close()
  },
)

/** Until nothing more goes onto it. */
function fill(path: string): string[] {
  const written: string[] = []
  for (const size of [MIB, 64 * 1024, 4 * 1024]) {
    for (;;) {
      const next = `${path}/ballast-${written.length}`
      written.push(next)
      try {
        writeFileSync(next, Buffer.alloc(size))
      } catch {
        break
      }
    }
  }
  return written
}
