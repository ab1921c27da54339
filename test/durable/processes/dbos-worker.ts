/** `dbos-worker.ts FOLDER URL VERSION [WHAT]`: runs `run-1` of the scenario on DBOS, where that has not ended. Nothing in it knows that it may be killed. */
import { writeFileSync } from 'node:fs'
import { durableAgent } from 'hookspan/dbos'
import type { Untyped } from '../../sdks/support/sdks.ts'
import { scenario, shop, shopLoop, shopModel } from '../support/scenario.ts'

const { DBOS }: Untyped = await import('@dbos-inc/dbos-sdk' as string)

const [folder = '', url = '', version = '', what = 'agent'] = process.argv.slice(2)
const scene = scenario(folder)
const { MAX_DURATION_MS } = process.env
const shared = {
  name: 'shop',
  dispatcher: scene.dispatcher,
  priceOf: () => 0.001,
  pollMs: 50,
  ...(MAX_DURATION_MS !== undefined && { maxDurationMs: Number(MAX_DURATION_MS) }),
}
const workflow =
  what === 'loop'
    ? durableAgent({ ...shared, agent: shopLoop(scene) })
    : durableAgent({ ...shared, agent: shop(scene), client: shopModel(scene.say) })
DBOS.setConfig({
  name: 'shop',
  systemDatabaseUrl: url,
  applicationVersion: version,
  executorID: version,
  runAdminServer: false,
  logLevel: 'error',
})
await DBOS.launch()
scene.say({ mark: 'up' })
// One that was begun before has been taken up again by now; this gives the same one.
const id = `${version}-1`
const handle = await DBOS.startWorkflow(workflow, { workflowID: id })({ prompt: 'go' })
const run = await handle.getResult().catch((error: Error) => ({ failed: error.message }))
writeFileSync(`${folder}/done.json`, JSON.stringify(run))
scene.say({ mark: 'done' })
// DBOS tells of a cancelled workflow before that has ended: a service lives on, and so its run is ended.
if (!('failed' in run)) await DBOS.shutdown()
