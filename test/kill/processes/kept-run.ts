/**
 * One process of a run with checkpoints: begins it, or goes on with it where it is in the store, until its result is written
 * down. Says on its standard output what hooks and tracers were told. Nothing in it knows that it may be killed.
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher, type HookEvent } from 'hookspan'
import { execAgent, resumeAgent, sqliteCheckpoints, unfinishedRuns } from 'hookspan/agent'
import { traceHooks } from 'hookspan/tracing'
import { shopAgent } from '../../support/shop-agent.ts'
import { tracerTelling } from '../../support/told-spans.ts'

const [folder = ''] = process.argv.slice(2)
const operationId = 'run-1'

/** A pipe: written at once, and no change of the disk. */
const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`)

const dispatcher = new HookDispatcher()
dispatcher.use(traceHooks({ tracer: tracerTelling(say) }))
const hooks = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].map((type) => ({
  id: type,
  type,
  handler: (event: HookEvent) => {
    if (event.operationId !== operationId) return
    say({ hookType: event.hookType, sequence: event.sequence })
    // The store forgets the run only after this.
    if (event.hookType === 'onComplete') writeFileSync(`${folder}/done.json`, JSON.stringify(event))
  },
}))
dispatcher.use({ name: 'see', hooks: hooks as never })

const shop = shopAgent((name, key) =>
  appendFileSync(
    `${folder}/ran.log`,
    `${name} ${key}
`,
  ),
)
const checkpoint = sqliteCheckpoints({ path: `${folder}/checkpoints.db` })
const shared = { ...shop, dispatcher, checkpoint, operationId }
const [kept] = await unfinishedRuns(checkpoint)
if (kept !== undefined) {
  await resumeAgent(shared).catch(({ code }) => {
    // Another process was faster: it goes on with the run, or has ended it.
    if (code !== 'STATE_CLAIMED' && code !== 'INVALID_STATE') throw code
    say({ refused: code })
  })
} else if (!existsSync(`${folder}/done.json`)) await execAgent({ ...shared, prompt: 'go' })
await dispatcher.shutdown()
await checkpoint.dispose?.()
