import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { toolPolicy } from 'hookspan/policies'
import { type StartTracingOptions, startTracing } from 'hookspan/tracing'
import { expect, vi } from 'vitest'

/** Where `npm run backends:install` puts a backend; `variable` names one of yours. */
export function installed(backend: string, program: string, variable: string): string {
  const given = process.env[variable]
  if (given !== undefined) return given
  const cache = fileURLToPath(new URL(`../../.cache/${backend}`, import.meta.url))
  const found = (existsSync(cache) ? readdirSync(cache) : [])
    .map((version) => join(cache, version, program))
    .find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new Error(`Found no ${backend}. Run \`npm run backends:install\`, or set ${variable}.`)
}

/** A process of a backend, with a folder of its own. */
export class BackendServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'hookspan-backend-'))
  #process: ChildProcess | undefined
  #log = ''

  async start(program: string, args: readonly string[], env: object, readyUrl: string): Promise<void> {
    const server = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    this.#process = server
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (text) => {
        this.#log = (this.#log + text).slice(-4_000)
      })
    }
    await vi.waitFor(
      async () => {
        if (server.exitCode !== null) throw new Error(`${program} ended: ${this.#log}`)
        expect((await fetch(readyUrl)).status).toBe(200)
      },
      { timeout: 240_000, interval: 200 },
    )
  }

  async stop(): Promise<void> {
    if (this.#process !== undefined && this.#process.exitCode === null) {
      this.#process.kill('SIGKILL')
      await once(this.#process, 'exit')
    }
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Sends a run of one step: a model call, a tool, one that fails and one that is denied. Gives the run's trace id. */
export async function sendRun(options: StartTracingOptions, question = 'Where is it?'): Promise<string> {
  const tracing = startTracing({ captureContent: true, flushOnExit: false, ...options })
  const dispatcher = new HookDispatcher({ priceOf: () => 0.25 })
  dispatcher.use(tracing)
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['drop_*'] })] })
  const run = dispatcher.startOperation({ agentName: 'support', conversationId: 'c-1', input: question })
  await run.step(async (step) => {
    const request = { messages: [{ role: 'user', content: question }] }
    await step.llmCall({ model: 'gpt-4o', provider: 'openai', request }, () => ({
      model: 'gpt-4o',
      choices: [{ message: { role: 'assistant', content: 'In Ulm.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 11, completion_tokens: 5 },
    }))
    await step.toolCall({ apiName: 'find', args: { id: 7 } }, () => ({ found: true }))
    await step.toolCall({ apiName: 'broken', args: {} }, () => Promise.reject(new TypeError('no')))
    await step.toolCall({ apiName: 'drop_table', args: {} }, () => ({}))
  })
  await run.complete({ content: 'In Ulm.' })
  await tracing.shutdown({ timeoutMs: 60_000 })
  expect(tracing.stats()).toMatchObject({ queued: 0, exported: 6, dropped: 0 })
  return (run.traceparent ?? '').split('-')[1] ?? ''
}
