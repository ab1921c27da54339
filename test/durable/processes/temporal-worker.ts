/** `temporal-worker.ts FOLDER ADDRESS QUEUE BUNDLE [WHAT]`: serves the agent of the scenario. Nothing in it knows that it may be killed. */
import { durableAgent } from 'hookspan/temporal'
import type { Untyped } from '../../sdks/support/sdks.ts'
import { scenario, shop, shopLoop, shopModel } from '../support/scenario.ts'

const { NativeConnection, Runtime, DefaultLogger, Worker }: Untyped = await import(
  '@temporalio/worker' as string
)

const [folder = '', address = '', taskQueue = '', codePath = '', what = 'agent'] = process.argv.slice(2)
const scene = scenario(folder)
const { MAX_DURATION_MS, MAX_COST_USD, HEARTBEAT_MS = '3000' } = process.env
const shared = {
  name: 'shop',
  dispatcher: scene.dispatcher,
  priceOf: () => 0.001,
  pollMs: 50,
  heartbeatTimeoutMs: Number(HEARTBEAT_MS),
  ...(MAX_DURATION_MS !== undefined && { maxDurationMs: Number(MAX_DURATION_MS) }),
}
const agent =
  what === 'loop'
    ? durableAgent({ ...shared, agent: shopLoop(scene), idempotentTools: ['pay'] })
    : durableAgent({
        ...shared,
        agent: { ...shop(scene), ...(MAX_COST_USD !== undefined && { maxCostUsd: Number(MAX_COST_USD) }) },
        client: shopModel(scene.say),
      })
/** Tells of what Temporal is given, and of what it gives back. */
const told = Object.fromEntries(
  Object.entries(agent).map(([name, activity]) => [
    name,
    async (argument: never) => {
      scene.say({ mark: `journal ${name}` })
      const given = await activity(argument)
      scene.say({ mark: `journaled ${name}` })
      return given
    },
  ]),
)
/** And of what is kept meanwhile. */
const journal = {
  async signal(input: Untyped, next: (input: Untyped) => Promise<void>) {
    scene.say({ mark: `journal ${input.signalName}` })
    await next(input)
    scene.say({ mark: `journaled ${input.signalName}` })
  },
}
Runtime.install({ logger: new DefaultLogger('WARN') })
const connection = await NativeConnection.connect({ address })
const worker = await Worker.create({
  connection,
  taskQueue,
  activities: told,
  interceptors: { client: { workflow: [journal] } },
  workflowBundle: { codePath },
  // One that was killed is not asked for the next task for so long.
  stickyQueueScheduleToStartTimeout: '1s',
  // One that stands still is given no more than it has asked for.
  maxConcurrentActivityTaskPolls: 1,
})
scene.say({ mark: 'up' })
await worker.run()
