import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import manifest from '../package.json' with { type: 'json' }
import { released } from '../scripts/changelog.ts'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n### Added\n\n- This.\n\n## 0.1.0 (2026-11-01)\n\n- That.\n'

it('gives what was unreleased its version and date, once', () => {
  const once = released(CHANGELOG, '1.0.0-rc.1', '2026-11-22')
  expect(once).toBe(CHANGELOG.replace('## Unreleased', '## Unreleased\n\n## 1.0.0-rc.1 (2026-11-22)'))
  expect(released(once, '1.0.0-rc.1', '2026-11-23')).toBe(once)
})

it('makes no section of nothing, and no second one of a version', () => {
  const once = released(CHANGELOG, '1.0.0-rc.1', '2026-11-22')
  expect(() => released(once, '1.0.0-rc.2', '2026-11-23')).toThrow('Nothing is under `## Unreleased`')
  const more = once.replace('## Unreleased', '## Unreleased\n\n- More.')
  expect(() => released(more, '1.0.0-rc.1', '2026-11-23')).toThrow('a section 1.0.0-rc.1 already')
  expect(() => released('# Changelog\n', '1.0.0', '2026-11-23')).toThrow('Expected `## Unreleased`')
  expect(released(read('CHANGELOG.md'), '99.0.0', '2026-11-23')).toContain('\n## 99.0.0 (2026-11-23)\n')
})

it('knows the version that was released last, and makes candidates of the next', () => {
  expect(JSON.parse(read('.release-please-manifest.json'))).toEqual({ '.': manifest.version })
  const { packages } = JSON.parse(read('release-please-config.json'))
  expect(packages['.']).toMatchObject({
    'release-type': 'node',
    'skip-changelog': true,
    versioning: 'prerelease',
    prerelease: true,
    'prerelease-type': 'rc.1',
  })
})

it('publishes with provenance, from the one job that may say who it is', () => {
  expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true })
  expect(manifest.scripts.prepublishOnly).toBe('npm run build')
  const { permissions, jobs } = parse(read('.github/workflows/release.yml'))
  expect(permissions).toEqual({})
  const trusted = Object.entries<{ permissions: Record<string, string> }>(jobs)
    .filter(([, job]) => job.permissions['id-token'] === 'write')
    .map(([name]) => name)
  expect(trusted).toEqual(['publish'])
  const commands = jobs.publish.steps.flatMap(({ run }: { run?: string }) => run ?? [])
  expect(commands).toEqual([
    'npm ci',
    'npm test',
    'npm run test:package',
    expect.stringContaining('npm publish'),
  ])
  expect(read('.github/workflows/release.yml')).not.toMatch(/secrets\./)
})
