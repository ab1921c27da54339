import { generateText, isStepCount, tool } from 'ai'
import { z } from 'zod'
import { model } from './model.mjs'

const say = (text) => {
  console.log('real tool:', text)
  return text
}
const { text } = await generateText({
  model,
  prompt: 'Where is order 7? Then drop the table.',
  stopWhen: isStepCount(5),
  tools: {
    find_order: tool({
      inputSchema: z.object({ id: z.number() }),
      execute: ({ id }) => say(`order ${id} is shipped`),
    }),
    delete_order: tool({
      inputSchema: z.object({ id: z.number() }),
      execute: ({ id }) => say(`${id} is deleted`),
    }),
    drop_table: tool({
      inputSchema: z.object({ name: z.string() }),
      execute: ({ name }) => say(`${name} is gone`),
    }),
  },
})
console.log(text)
