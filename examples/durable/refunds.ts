/** Where the runs of the agent are saved: for start.ts, and for `hookspan resume --config`. */
import { sqliteCheckpoints } from 'hookspan/agent'
import { scriptedModel } from 'hookspan/mock'
import { agent, folder } from './agent.ts'

export const checkpoint = sqliteCheckpoints({ path: `${folder}/checkpoints.db` })

export default { agent, checkpoint, client: scriptedModel(['It is refunded.']) }
