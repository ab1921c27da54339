/** `hookspan approvals audit`: who let which call run, and what became of it. */
import { once } from 'node:events'
import { AuditChain, type AuditReport } from '../../approval/audit-chain.ts'
import { formatWhole } from '../../viewer/model/format.ts'
import { UsageError } from '../failure.ts'
import { shown, shownJson } from '../render/shown.ts'
import { plural } from '../render/terminal.ts'
import { type AuditFilterFlags, auditFilter } from './audit-filter.ts'
import { type AuditFile, auditFiles, linesOf } from './audit-source.ts'
import { auditText } from './audit-text.ts'
import { type Audited, AuditedRequests } from './audited.ts'
import { keptArguments } from './kept-arguments.ts'

export interface AuditFlags extends AuditFilterFlags {
  db?: string
  key?: string[]
  json?: boolean
}

type Report = {
  path: string
  /** Logs that it went on from, each by the last entry that somebody had written there, and that are not among these as they were then. */
  missing?: Last[]
} & AuditReport

interface Last {
  seq: number
  hash: string
}

export async function showAudit(paths: string[], flags: AuditFlags): Promise<void> {
  const logs = paths.length > 0 ? paths : [process.env.HOOKSPAN_AUDIT_LOG ?? ''].filter(Boolean)
  if (logs.length === 0)
    throw new UsageError('Say which audit log: hookspan approvals audit FILE, or set HOOKSPAN_AUDIT_LOG.')
  const isAsked = auditFilter(flags)
  const files = await auditFiles(logs, flags.key ?? [process.env.HOOKSPAN_AUDIT_KEY ?? ''].filter(Boolean))
  const kept = flags.db === undefined ? undefined : keptArguments(flags.db)
  const out = new Printed(flags.json === true)
  const before = new Map<Report, Last[]>()
  try {
    const requests = new AuditedRequests()
    const print = async (one: Audited) => {
      if (isAsked(one)) await out.add(kept?.add(one) ?? one)
    }
    for (const file of files) {
      const lasts: Last[] = []
      before.set(await follow(file, requests, print, lasts), lasts)
    }
    for (const one of requests.rest()) await print(one)
  } finally {
    kept?.close()
  }
  const reports = [...before.keys()]
  for (const [report, lasts] of before) {
    const missing = lasts.filter((last) => !reports.some((one) => one !== report && has(one, last)))
    if (missing.length > 0) report.missing = missing
  }
  await out.end(reports)
  for (const report of reports) tell(report)
  if (reports.some(({ ok }) => !ok)) process.exitCode = 1
}

async function follow(
  { path, key }: AuditFile,
  requests: AuditedRequests,
  print: (one: Audited) => Promise<void>,
  lasts: Last[],
): Promise<Report> {
  const chain = new AuditChain(key)
  const take = async (line?: Buffer) => {
    const entry = chain.next(line)
    if (entry?.event === 'begun_anew')
      lasts.push({ seq: Number(entry.lastSeq), hash: String(entry.lastHash) })
    const over = entry && requests.add(entry, chain.isWhole)
    if (over !== undefined) await print(over)
  }
  for await (const lines of linesOf(path)) for (const line of lines) await take(line)
  await take()
  return { path, ...chain.report }
}

/** Others may have written to it after that. */
function has(report: Report, { seq, hash }: Last): boolean {
  return !report.ok || report.entries > seq || (report.entries === seq && report.lastHash === hash)
}

function tell(report: Report): void {
  const path = shown(report.path)
  if (report.ok)
    console.error(
      `${path}: ${formatWhole(report.entries)} ${plural(report.entries, 'entry', 'entries').replace(/^\d+ /, '')}, unchanged. Last hash: ${report.lastHash}`,
    )
  else
    console.error(
      `${path}:${report.line}: ${report.problem}. What stands there and behind it is not vouched for.`,
    )
  for (const { seq } of report.missing ?? [])
    console.error(
      `${path}: goes on from a log of ${formatWhole(seq)} entries at least, which is none of these, or was cut off.`,
    )
}

/** Each as it comes: a log of years is held nowhere as a whole. */
class Printed {
  readonly #asJson: boolean
  #count = 0

  constructor(asJson: boolean) {
    this.#asJson = asJson
  }

  async add(one: Audited): Promise<void> {
    if (!this.#asJson) await this.#write(`${auditText(one)}\n`)
    else await this.#write(`${this.#count === 0 ? '{"requests":[\n' : ',\n'}${shownJson(one)}`)
    this.#count++
  }

  async end(logs: readonly Report[]): Promise<void> {
    if (this.#asJson)
      await this.#write(`${this.#count === 0 ? '{"requests":[' : ''}\n],"logs":${shownJson(logs)}}\n`)
    else if (this.#count === 0) await this.#write('Nothing of that is in the log.\n')
  }

  async #write(text: string): Promise<void> {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain')
  }
}
