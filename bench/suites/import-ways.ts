import { execFileSync } from 'node:child_process'
import { root } from '../harness/environment.ts'
import { median } from '../harness/statistics.ts'
import type { Measurement } from '../harness/types.ts'
import { IMPORT_PAIRS } from './amounts.ts'

const EMPTY = 'data:text/javascript,export{}'

const measured = (url: string) => `
const before = process.cpuUsage()
const names = Object.keys(await import(${JSON.stringify(url)}))
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify([(user + system) / 1_000, names.length]))`

function importing(url: string): [ms: number, names: number] {
  const args = ['--input-type=module', '--eval', measured(url)]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', cwd: root }))
}

export function over(file: string): Measurement {
  const url = new URL(file, `file://${root}`).href
  return async () => {
    let exported = 0
    const differences = Array.from({ length: IMPORT_PAIRS }, (_item, index) => {
      const first = importing(index % 2 === 0 ? url : EMPTY)
      const second = importing(index % 2 === 0 ? EMPTY : url)
      const [whole, empty] = index % 2 === 0 ? [first, second] : [second, first]
      exported = whole[1]
      return whole[0] - empty[0]
    })
    return {
      values: { 'ms, median': median(differences), 'ms, lowest': Math.min(...differences) },
      proof: { exported },
    }
  }
}
