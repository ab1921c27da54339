import { expect, it } from 'vitest'
import { start } from './start.ts'
import { id, otlp, post } from './support.ts'

const LARGE = 'ab'.repeat(16)
const TALKATIVE = 'cd'.repeat(16)

/** Text that packs well: what is stored of it is small. */
const SAID = 'said. '.repeat((23 * 1024 * 1024) / 6)

it('refuses to write a run into one file that is more than memory should hold, before it is read', async () => {
  const viewer = await start()
  const one = (traceId: string, name: string, n: number, key: string) => ({
    traceId,
    spanId: id(n),
    parentSpanId: n > 1 ? id(1) : '',
    name,
    start: n,
    attributes: { 'gen_ai.operation.name': name, [key]: SAID },
  })
  for (let n = 1; n <= 12; n++) {
    const results = one(LARGE, 'execute_tool', n, 'gen_ai.tool.call.result')
    expect(await (await post(viewer, otlp([results]))).json()).toEqual({})
    const prompts = one(TALKATIVE, 'chat', n, 'gen_ai.input.messages')
    await post(viewer, otlp([prompts]))
  }
  const answers = async (path: string) => {
    const response = await fetch(viewer.url + path)
    return { status: response.status, text: (await response.text()).slice(0, 300) }
  }
  for (const path of [
    `/api/runs/${LARGE}/export.json`,
    `/api/runs/${LARGE}/export.html`,
    `/api/export?format=otlp&runs=${LARGE}`,
    `/api/export?format=jsonl&runs=${LARGE}`,
  ]) {
    const { status, text } = await answers(path)
    expect(status, path).toBe(413)
    expect(text, path).toContain(`Run ${LARGE} is more than 256 MiB`)
  }
  expect((await answers(`/api/export?format=otlp&runs=${LARGE},${TALKATIVE}`)).text).toContain('after 1 of 2')
  // Each prompt has all before it, and a line has the last of them.
  expect((await answers(`/api/export?format=jsonl&runs=${TALKATIVE}`)).status).toBe(200)
})
