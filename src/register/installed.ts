import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Manifest {
  readonly name?: unknown
  readonly version?: unknown
}

/** The source of an expression: the folder of a package in `node_modules`, whichever tool has put it there. */
export const PACKAGE_FOLDER = String.raw`\/node_modules\/(?:\.store\/[^/]+\/package|(?:\.[^/]+\/)?(?:@[^/]+\/)?[^/]+)`
const FOLDER = new RegExp(String.raw`^file:.*${PACKAGE_FOLDER}(?=\/)`)

const manifests = new Map<string, Manifest>()

/**
 * What the package says of itself that a module was installed with: its folder may have any name (`my-ai@npm:ai`), and lie in
 * one of a tool (`.nitro/ai@7.0.1`, where a build has several versions; `.store/ai-npm-7.0.1/package` of Yarn).
 */
export function manifestOf(url: string): Manifest {
  const [folder] = FOLDER.exec(url) ?? []
  if (folder === undefined) return {}
  const known = manifests.get(folder)
  if (known !== undefined) return known
  const manifest = read(folder)
  manifests.set(folder, manifest)
  return manifest
}

function read(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(fileURLToPath(`${folder}/package.json`), 'utf8')) ?? {}
  } catch {
    return {}
  }
}

/** `@scope/name` of `@scope/name/what/ever`. */
export function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

/** What a program that has a package under another name means by that name. */
export function ownName(specifier: string, url: string): string {
  const alias = packageOf(specifier)
  const { name } = manifestOf(url)
  return typeof name === 'string' ? name + specifier.slice(alias.length) : specifier
}

/** Whether its name, or its package, says that it is an ES module. */
export function isModule(path: string): boolean {
  if (/\.[mc]js$/.test(path)) return path.endsWith('.mjs')
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest)) return JSON.parse(readFileSync(manifest, 'utf8')).type === 'module'
  }
  return false
}
