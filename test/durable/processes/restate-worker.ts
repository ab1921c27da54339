/** `restate-worker.ts FOLDER PORT INGRESS NAME [WHAT]`: serves the agent of the scenario. Nothing in it knows that it may be killed. */
import { once } from 'node:events'
import { createServer } from 'node:http2'
import { durableAgent } from 'hookspan/restate'
import type { Untyped } from '../../sdks/support/sdks.ts'
import { scenario, shop, shopLoop, shopModel } from '../support/scenario.ts'
import { aiSdkShop, openaiAgentsShop } from '../support/sdk-shops.ts'

const restate: Untyped = await import('@restatedev/restate-sdk' as string)

const [folder = '', port = '', ingress = '', name = '', what = 'agent'] = process.argv.slice(2)
const scene = scenario(folder)
const { MAX_DURATION_MS, MAX_COST_USD } = process.env
const limits = {
  ...(MAX_DURATION_MS !== undefined && { maxDurationMs: Number(MAX_DURATION_MS) }),
}
const shared = {
  name,
  dispatcher: scene.dispatcher,
  priceOf: () => 0.001,
  ...(ingress !== '-' && { ingress }),
  pollMs: 50,
  ...limits,
}
const own = { loop: shopLoop, 'ai-sdk': aiSdkShop, 'openai-agents': openaiAgentsShop }
// These SDKs are heavy, and not everybody has them.
const loops =
  what in own || what === 'agent' ? own : (await import('../../sdks/support/durable-shops.ts')).SDK_WAYS
const agent =
  what in loops
    ? durableAgent({
        ...shared,
        agent: await loops[what as keyof typeof loops](scene),
        idempotentTools: ['pay'],
      })
    : durableAgent({
        ...shared,
        agent: { ...shop(scene), ...(MAX_COST_USD !== undefined && { maxCostUsd: Number(MAX_COST_USD) }) },
        client: shopModel(scene.say),
      })
const endpoint = {
  services: [agent],
  defaultServiceOptions: {
    hooks: [
      () => ({
        interceptor: {
          run: async (segment: string, next: () => Promise<void>) => {
            scene.say({ mark: `journal ${segment}` })
            await next()
            scene.say({ mark: `journaled ${segment}` })
          },
        },
      }),
    ],
  },
}
if (process.env.REQUEST_RESPONSE === undefined) await restate.serve({ ...endpoint, port: Number(port) })
else {
  const handler = restate.createEndpointHandler({ ...endpoint, bidirectional: false })
  await once(createServer(handler).listen(Number(port)), 'listening')
}
scene.say({ mark: 'up' })
