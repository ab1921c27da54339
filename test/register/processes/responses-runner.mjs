import OpenAI from 'openai'
import { ResponsesToolRunner, runnerFunction } from 'openai/helpers/responses-tool-runner'
import { zodResponsesFunction } from 'openai/helpers/zod'
import { z } from 'zod'

const body = ({ what }) => {
  console.log(`${what} is wiped`)
  return 'wiped'
}
const typed = runnerFunction(
  zodResponsesFunction({ name: 'wipe', parameters: z.object({ what: z.string() }), function: body }),
)
const functions = process.argv.includes('typed') ? [typed] : [{ tool: typed.tool, execute: body }]
const runner = new ResponsesToolRunner({ functions })
const params = { model: 'gpt-4o', input: 'Clean up.' }
await runner
  .run(new OpenAI({ apiKey: 'none' }), params, { maxSteps: 2 })
  .catch((error) => console.log(error.message))
