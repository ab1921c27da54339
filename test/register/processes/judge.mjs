// The program of a gate or a hook, which asks a model itself. Where it is asked often, it asks no more.
import { appendFileSync, readFileSync } from 'node:fs'
import OpenAI from 'openai'

const [log] = process.argv.slice(2)
appendFileSync(log, `${process.pid}\n`)
if (readFileSync(log, 'utf8').split('\n').length > 10) process.exit(1)
const messages = [{ role: 'user', content: 'Is it well?' }]
const { choices } = await new OpenAI().chat.completions.create({ model: 'gpt-4o', messages })
console.log(JSON.stringify({ decision: 'proceed', reason: choices[0].message.content }))
