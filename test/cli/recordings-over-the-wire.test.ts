import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { type RecordedAssistantTurn, readRecordings } from '../../src/cli/replay/recordings/index.ts'
import { type ScriptedStep, startScriptedServer } from '../../src/mock/scripted-server/index.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'

const folder = recordingsFolder()
const files = ['tau-bench', 'tau2-bench'].flatMap((name) =>
  folder
    ? readdirSync(join(folder, name))
        .filter((file) => file.endsWith('.json'))
        .map((file) => join(name, file))
    : [],
)

describe.skipIf(!folder)('a recorded turn, served by the scripted server', () => {
  it.each(files)(
    'reaches the real client unchanged, every other one streamed: %s',
    async (file) => {
      const runs = await readRecordings(join(folder!, file))
      const turns = runs.flatMap((run) => run.items).filter((item) => item.kind === 'assistant')
      await using server = await startScriptedServer({ steps: turns.map(toStep), recordRequests: false })
      const client = new OpenAI({ apiKey: 'scripted', baseURL: server.baseURL, maxRetries: 0 })
      const request = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'go on' }] }

      for (const [index, turn] of turns.entries()) {
        const answer =
          index % 2 === 0
            ? await client.chat.completions.create(request)
            : await client.chat.completions.stream(request).finalChatCompletion()
        const message = answer.choices[0]?.message
        expect(message?.content).toBe(turn.content)
        const calls = (message?.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call] : []))
        expect(calls.map(({ id, function: { name, arguments: text } }) => [id, name, text])).toEqual(
          turn.calls.map(({ id, name, argumentsText }) => [id, name, argumentsText]),
        )
      }
      server.assertDone()
    },
    120_000,
  )
})

function toStep({ content, calls, usage }: RecordedAssistantTurn): ScriptedStep {
  return {
    content,
    toolCalls: calls.map(({ id, name, argumentsText }) => ({ id, name, arguments: argumentsText })),
    ...(usage ? { usage } : {}),
  }
}
