import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { execAgent } from 'hookspan/agent'
import { scriptedModel } from 'hookspan/mock'

const store = sqliteCheckpoints({ path: 'checkpoints.db' })
const agent = { name: 'a', model: 'm' }
for (const operationId of ['old', 'new']) {
  const client = scriptedModel([{ error: { status: 400, message: 'no' } }])
  await execAgent({ agent, prompt: 'go', checkpoint: store, operationId, client })
}
const db = new DatabaseSync('checkpoints.db')
const age = db.prepare('UPDATE hookspan_checkpoint_runs SET saved_at = saved_at - ? WHERE operation_id = ?')
age.run(31 * 86_400_000, 'old')
db.close()
assert.equal((await unfinishedRuns(store)).length, 2)

snippet('import { discardRun, sqliteCheckpoints')

const left = await unfinishedRuns(checkpoint)
assert.deepEqual(
  left.map(({ operationId, state }) => [operationId, state]),
  [['new', 'failed']],
)
