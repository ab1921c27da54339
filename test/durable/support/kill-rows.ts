import { appendFileSync } from 'node:fs'
import { toldAgain } from './held.ts'
import type { Line } from './scenario.ts'

interface Row {
  readonly killed: string
  kills: number
  runs: number
  unknown: number
  toldAgain: number
}

/** What is printed at the end: a table in Markdown, also behind the file that `HOOKSPAN_KILL_TABLE` names. */
export class KillRows {
  readonly #rows = new Map<string, Row>()

  /** A run that has ended, and of which all is held. */
  note(killed: string, kills: number, told: string, lines: readonly Line[]): void {
    const row = this.#rows.get(killed) ?? { killed, kills: 0, runs: 0, unknown: 0, toldAgain: 0 }
    this.#rows.set(killed, row)
    row.kills += kills
    row.runs++
    if (told.includes('execution_unknown')) row.unknown++
    row.toldAgain += toldAgain(lines)
  }

  print(): void {
    const rows = [...this.#rows.values()].sort((one, other) => one.killed.localeCompare(other.killed))
    const all = rows.reduce((sum, { kills }) => sum + kills, 0)
    const lines = [
      `| killed with SIGKILL (${all}) | kills | runs, all held | told \`execution_unknown\` | events told again |`,
      '| --- | --- | --- | --- | --- |',
      ...rows.map((row) => `| ${Object.values(row).join(' | ')} |`),
    ]
    const table = lines.join('\n')
    console.log(table)
    const { HOOKSPAN_KILL_TABLE } = process.env
    if (HOOKSPAN_KILL_TABLE !== undefined) appendFileSync(HOOKSPAN_KILL_TABLE, `${table}\n\n`)
  }
}

/** What a worker had done last. */
export function whatItWas(line: Line | undefined): string {
  if (line === undefined) return 'nothing'
  if ('span' in line) return 'a span'
  if ('hookType' in line) return 'a hook'
  if ('tool' in line) return `a tool's ${line.phase}`
  if (line.mark.startsWith('store')) return 'the store of approvals'
  if (line.mark.startsWith('journal')) return 'the journal'
  return line.mark === 'model' ? 'a model call' : 'a booking'
}
