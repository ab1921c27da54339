/** The blocks of docs/durable-engines.md, as they stand there, on a real Restate, Temporal, DBOS and Postgres. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../docs/blocks.ts'
import { ENGINES, PROGRAMS, runPageProgram } from '../docs/programs.ts'
import { Postgres, postgresPrograms } from './support/postgres.ts'
import { RestateServer } from './support/restate-server.ts'
import { temporalProgram } from './support/temporal-program.ts'
import { TemporalServer } from './support/temporal-server.ts'

const RESOLVE = new URL('support/resolve.ts', import.meta.url).href
const programs = PROGRAMS.filter(({ name }) => name.startsWith(ENGINES))

let folder: string
let restate: RestateServer
let postgres: Postgres | undefined
let temporal: TemporalServer | undefined
beforeAll(async () => {
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  folder = mkdtempSync(join(ROOT, '.cache/durable-docs-'))
  // The ports that the page names, which are Restate's own.
  restate = await RestateServer.start(join(folder, 'restate'), { ingress: 8080, admin: 9070 })
  if (postgresPrograms !== undefined) postgres = await Postgres.start(join(folder, 'postgres'))
  if (temporalProgram !== undefined) temporal = await TemporalServer.startAt(7233, temporalProgram, folder)
})
afterAll(async () => {
  await Promise.all([restate?.kill(), postgres?.stop(), temporal?.kill()])
  rmSync(folder, { recursive: true, force: true })
})

it('are all here', () => {
  expect(programs).toHaveLength(6)
})

it.for(programs)('$name', async (program, { skip }) => {
  if (program.name.includes('temporal') && temporal === undefined)
    skip('there is no Temporal here: npm run temporal:install')
  if (program.name.includes('dbos') && postgres === undefined)
    skip('there is no Postgres here: apt-get install postgresql')
  const env = {
    ...(postgres && { DATABASE_URL: postgres.url }),
    RESTATE_ADMIN: restate.admin,
    RESTATE_INGRESS: restate.ingress,
    ENGINES: fileURLToPath(new URL('node_modules', import.meta.url)),
    PATH: [dirname(temporalProgram ?? ''), process.env.PATH].join(delimiter),
    // Restate calls the agent of the first block at the port that the block says.
    ...(program.name === ENGINES && { HOOKSPAN_DOCS_AS_SAID: '1' }),
  }
  await runPageProgram(program, folder, { args: ['--import', RESOLVE], env })
})
