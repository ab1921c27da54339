import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { SpanShape } from './sink-otlp.ts'

export interface Received {
  readonly spans: number
  readonly bytes: number
  readonly requests: number
  /** Of the last request that held whole runs. */
  readonly shapes: readonly SpanShape[]
}

/** A collector in another process. */
export interface Sink {
  readonly url: string
  received(): Promise<Received>
}

export async function startSink(): Promise<Sink> {
  const child: ChildProcess = fork(new URL('./sink-process.ts', import.meta.url), { execArgv: [] })
  const [port] = await once(child, 'message')
  return {
    url: `http://127.0.0.1:${port}`,
    async received() {
      child.send('report')
      const [report] = await once(child, 'message')
      return report
    },
  }
}
