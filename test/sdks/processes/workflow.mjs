import { createTool } from '@mastra/core/tools'
import { createStep, createWorkflow } from '@mastra/core/workflows'
import { z } from 'zod'

const shape = { inputSchema: z.object({ what: z.string() }), outputSchema: z.string() }
const wipe = createTool({ id: 'wipe', description: 'Wipes.', ...shape, execute: async ({ what }) => what })
const plain = createStep({ id: 'plain', ...shape, execute: async ({ inputData }) => inputData.what })

for (const [id, step] of Object.entries({ plain, nightly: createStep(wipe) })) {
  const run = await createWorkflow({ id, ...shape })
    .then(step)
    .commit()
    .createRun()
  console.log((await run.start({ inputData: { what: 'all' } })).result)
}
