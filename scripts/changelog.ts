/**
 * Gives what is under `## Unreleased` in CHANGELOG.md the version that package.json has, and today's date:
 * `node scripts/changelog.ts`, in the pull request of a release. Does nothing where it is done.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * @returns the changelog with the version and its date as the heading of what was unreleased
 * @throws Error when nothing is unreleased, or the changelog has no such section
 */
export function released(changelog: string, version: string, date: string): string {
  const headings = [...changelog.matchAll(/^## (\S+).*$/gm)]
  const [unreleased, next] = headings
  if (unreleased?.[1] !== 'Unreleased')
    throw new Error('Expected `## Unreleased` to be the first section of CHANGELOG.md.')
  const text = changelog.slice(unreleased.index + unreleased[0].length, next?.index)
  if (text.trim() === '') {
    if (next?.[1] === version) return changelog
    throw new Error(
      `Nothing is under \`## Unreleased\` in CHANGELOG.md, so there is nothing to say of ${version}.`,
    )
  }
  if (headings.some(([, heading]) => heading === version))
    throw new Error(`CHANGELOG.md has a section ${version} already, and more under \`## Unreleased\`.`)
  return changelog.replace(unreleased[0], `## Unreleased\n\n## ${version} (${date})`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = new URL('../', import.meta.url)
  const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string }
  const path = new URL('CHANGELOG.md', root)
  writeFileSync(path, released(readFileSync(path, 'utf8'), version, new Date().toISOString().slice(0, 10)))
}
