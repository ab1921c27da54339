import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Fleet } from './fleet.ts'

export interface Usage {
  readonly cpuSeconds: number
  readonly peakBytes: number
}

/** What each part has used until now. */
export function usageOf(fleet: Fleet): Map<string, Usage> {
  return new Map(Object.entries(fleet.servers).map(([name, server]) => [name, server.usage()]))
}

/** Seconds of processor, which a machine that is busy with something else does not change much, by how many spans each part had. */
export function table(
  before: ReadonlyMap<string, Usage>,
  after: ReadonlyMap<string, Usage>,
  spans: { readonly sent: number; readonly kept: number },
): string {
  const rows = [...after].map(([name, { cpuSeconds, peakBytes }]) => {
    const spent = cpuSeconds - (before.get(name)?.cpuSeconds ?? 0)
    const handled = name === 'store' || name === 'cassandra' ? spans.kept : spans.sent
    const perCore = spent > 0 ? Math.round(handled / spent) : 0
    return `| ${name} | ${handled} | ${spent.toFixed(1)} | ${perCore} | ${Math.round(peakBytes / 2 ** 20)} |`
  })
  const head = [
    '| part | spans | seconds of a core | spans a second and core | peak MiB |',
    '| --- | --- | --- | --- | --- |',
  ]
  return [...head, ...rows].join('\n')
}

export function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}
