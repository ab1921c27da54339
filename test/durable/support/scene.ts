import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type ApprovalRecord, createApprovals, sqliteStore } from 'hookspan/approval'
import type { Line } from './scenario.ts'
import { until } from './wait.ts'
import { linesIn, type Worker } from './worker.ts'

/** How a run of the scenario ended: of an agent, or of a loop. */
export interface Ended {
  readonly reason: string
  readonly content?: string
  readonly value?: string
  readonly endedBy?: string
}

export const toldBy = ({ content, value }: Ended): string => content ?? value ?? ''

/** What is told as a tool begins. */
export const begins = (tool: string) => (line: Line) =>
  'tool' in line && line.tool === tool && line.phase === 'begin'

/** What is told once a human is asked. */
export const asks = (line: Line) => 'mark' in line && line.mark === 'store add'

/** One agent on an engine: its folder, what its processes said, its human. */
export abstract class Scene {
  readonly folder = mkdtempSync(`${tmpdir()}/hookspan-durable-`)
  abstract readonly worker: Worker

  /** As a human's tool does, in a process of its own: this one. */
  async answer(decision: 'approve' | 'reject' = 'approve'): Promise<ApprovalRecord> {
    const store = sqliteStore({ path: `${this.folder}/approvals.db` })
    const approvals = createApprovals({ store })
    try {
      const record = await until('a request', async () => (await approvals.list({ status: 'pending' }))[0])
      return await approvals.respond(record.request.id, { decision, approver: 'ann' })
    } finally {
      await approvals.close()
    }
  }

  /** The same, where somebody is asked now. */
  async answerNow(): Promise<void> {
    const asked = (await this.asked()).some(({ status }) => status === 'pending')
    if (asked) await this.answer()
  }

  /** Somebody who answers as soon as he is asked, until he goes. */
  human(): { goes(): Promise<void> } {
    let here = true
    const sits = (async () => {
      while (here) {
        await this.answerNow()
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    })()
    return {
      async goes() {
        here = false
        await sits
      },
    }
  }

  async asked(): Promise<ApprovalRecord[]> {
    const store = sqliteStore({ path: `${this.folder}/approvals.db` })
    try {
      return await store.list()
    } finally {
      await store.dispose?.()
    }
  }

  get lines(): Line[] {
    return linesIn(this.folder)
  }

  said(what: (line: Line) => boolean): Promise<Line> {
    return until('a line', async () => this.lines.find(what))
  }

  /** Why a run ended, each time that its end was told to its hook. */
  endsOf(operationId: string): (string | undefined)[] {
    return this.lines.flatMap((line) =>
      'hookType' in line && line.hookType === 'onComplete' && line.operationId === operationId
        ? [line.reason]
        : [],
    )
  }

  async close(): Promise<void> {
    await this.worker.kill()
    if (process.env.KEEP === undefined) rmSync(this.folder, { recursive: true, force: true })
    else console.log(this.folder)
  }
}
