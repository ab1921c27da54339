import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { testedRange } from '../../adapters/peer-range.ts'
import { findInstalled, isWithin } from '../../internal/version-range.ts'
import { installLine } from '../install-line.ts'
import type { Finding } from './finding.ts'

/** The package of each engine that runs agents durably, and the subpath for it. */
const ENGINES = [
  ['@restatedev/restate-sdk', 'restate'],
  ['@dbos-inc/dbos-sdk', 'dbos'],
  ['@temporalio/activity', 'temporal'],
] as const

/** Of each durable engine that a project has: what is for it, and whether its version was tested. */
export function checkEngines(project: string): Finding[] {
  const from = pathToFileURL(join(project, 'package.json')).href
  return ENGINES.flatMap(([name, subpath]): Finding[] => {
    const installed = findInstalled(name, from)
    if (installed === undefined) return []
    const check = `engine:${name}`
    const says = `${name} ${installed.version}: hookspan/${subpath} runs agents on it`
    const range = testedRange(name) ?? ''
    if (isWithin(installed.version, range)) return [{ check, state: 'ok', says }]
    const mend = `Run: ${installLine([`${name}@"${range}"`], project)}`
    return [{ check, state: 'note', says: `${says}. It was tested with ${range}`, mend }]
  })
}
