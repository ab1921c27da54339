import Module from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isModule } from './installed.ts'

const OPTION = /--(?:import|(?:experimental-)?loader)(?:=|\s+)(?:"([^"]+)"|(\S+))/g

/**
 * Whether `require()` would run the program's file, by somebody who compiles it, as ts-node: beside any `--import` Node reads the
 * file as a module by itself, and past them. Where that is not ours alone, the program has it so without hookspan.
 */
export function isTakenEntry(url: string, parentURL: string | undefined): boolean {
  if (parentURL !== undefined || !url.startsWith('file:')) return false
  const { _extensions: taken } = Module as unknown as { _extensions: Record<string, unknown> }
  const path = fileURLToPath(url)
  const extension = extname(path)
  if (/^(\.[cm]?js|\.json|\.node|\.m.*|)$/.test(extension) || taken[extension] === undefined) return false
  const options = [...process.execArgv, process.env.NODE_OPTIONS].join(' ')
  const preloads = [...options.matchAll(OPTION)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  return preloads.every((one) => /\bhookspan\b|register\/index\.[jt]s$/.test(one)) && !isModule(path)
}
