import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Agent,
  type CheckpointStore,
  execAgent,
  type OpenAIClient,
  sqliteCheckpoints,
} from 'hookspan/agent'
import { median } from '../harness/statistics.ts'
import type { Measurement } from '../harness/types.ts'

const RUNS = 20
const STEPS = 100
const TEXT = 'Wool socks, grey, long. '.repeat(76)

interface Asked {
  readonly messages: readonly { readonly role: string }[]
}

/** Asks for the tool in each of the steps, then says that it is done. */
function reply({ messages }: Asked): object {
  const told = messages.filter(({ role }) => role === 'tool').length
  const call = { id: `call_${told}`, type: 'function', function: { name: 'read', arguments: '{}' } }
  const message =
    told < STEPS
      ? { role: 'assistant', content: null, tool_calls: [call] }
      : { role: 'assistant', content: 'done' }
  return { id: 'r', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] }
}

function inMemory(): CheckpointStore {
  const records: string[] = []
  return {
    claim: async () => ({ state: 'claimed', token: '', records: [] }),
    append: async (_operationId, _token, { record }) => void records.push(record),
    release: async () => void records.splice(0),
    list: async () => [],
  }
}

/** From the end of a tool, or the reply of a model, to the moment at which the record is kept: made and written. */
async function measured(store: CheckpointStore): ReturnType<Measurement> {
  const took: number[] = []
  let [bytes, messageBytes, begun] = [0, 0, 0]
  const timed: CheckpointStore = {
    ...store,
    async append(operationId, token, write) {
      bytes += write.record.length + write.about.length
      await store.append(operationId, token, write)
      took.push(performance.now() - begun)
    },
  }
  const begin = <T>(value: T): T => {
    begun = performance.now()
    return value
  }
  const agent: Agent = {
    name: 'reader',
    model: 'm',
    maxSteps: STEPS + 1,
    tools: [{ name: 'read', execute: () => begin(TEXT) }],
  }
  const client = { chat: { completions: { create: async (asked: Asked) => begin(reply(asked)) } } }
  for (let i = 0; i < RUNS; i++) {
    begin(undefined)
    const run = await execAgent({
      agent,
      client: client as OpenAIClient,
      prompt: 'read',
      checkpoint: timed,
      priceOf: () => 0,
    })
    messageBytes += JSON.stringify(run.messages).length
    if (run.steps !== STEPS + 1) throw new Error(`${run.steps} steps were taken.`)
  }
  if (messageBytes / RUNS < 200_000) throw new Error(`A run has ${messageBytes / RUNS} bytes of messages.`)
  took.sort((a, b) => a - b)
  return {
    values: {
      'ms, median': median(took),
      'ms, p99': took[Math.floor(took.length * 0.99)] ?? Number.NaN,
      'bytes written, x messages': bytes / messageBytes,
    },
    proof: { records: took.length },
  }
}

export const memory: Measurement = () => measured(inMemory())

export const sqlite: Measurement = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-bench-checkpoint-'))
  const store = sqliteCheckpoints({ path: join(folder, 'checkpoints.db') })
  try {
    return await measured(store)
  } finally {
    await store.dispose?.()
    rmSync(folder, { recursive: true, force: true })
  }
}
