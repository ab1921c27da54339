import { fileURLToPath } from 'node:url'
import { startScriptedServer } from 'hookspan/mock'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { programEnv, receivedTree } from '../support/registered.ts'
import { runCli } from '../support/run-cli.ts'

const PROGRAM = fileURLToPath(new URL('processes/two-copies.mjs', import.meta.url))

let model: Awaited<ReturnType<typeof startScriptedServer>>
beforeAll(async () => {
  model = await startScriptedServer({ respond: () => ({ content: 'It is on its way.' }) })
})
afterAll(() => model.close())

/** What `hookspan run` shows of it: its spans, in the order of their beginning, and what it prints. */
async function observed(...args: string[]) {
  const collector = await startCollector()
  const env = programEnv(model.baseURL, collector.url)
  const { code, stdout, stderr } = await runCli(['run', '--', process.execPath, PROGRAM, ...args], { env })
  const tree = receivedTree(collector.spans)
  await collector.stop()
  expect(code, stderr).toBe(0)
  expect(stderr).not.toContain('not attached')
  return { stdout, tree: tree.sort(), stderr }
}

it('observes two versions of each SDK in one process as it does each alone', async () => {
  const bare = await runCli([PROGRAM], {
    command: '--no-warnings',
    env: programEnv(model.baseURL, 'http://127.0.0.1:9'),
  })
  const [older, newer, both] = await Promise.all([observed('older'), observed('newer'), observed()])

  expect(both.stdout).toBe(bare.stdout)
  expect(both.stdout).toBe(older.stdout + newer.stdout)
  expect(both.tree).toEqual([...older.tree, ...newer.tree].sort())
  for (const [name, { tree }] of Object.entries({ older, newer })) {
    const told = tree.map((line) => line.trim())
    expect(told).toContain(`chat ${name}-openai`)
    expect(told).toContain(`chat ${name}-anthropic`)
    expect(told).toContain(`chat ${name}-ai`)
    expect(told).toContain(`invoke_agent ${name}-langchain`)
    expect(told.filter((line) => line === 'execute_tool find')).toHaveLength(4)
  }
  for (const version of ['openai 6.0.0', '@anthropic-ai/sdk 1.0.0', 'ai 7.0.100', 'langchain 1.5.0']) {
    expect(both.stderr).toContain(version)
  }
})
