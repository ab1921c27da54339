import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES, HookspanError } from '../src/internal/errors.ts'
import { statusOfRefusal } from '../src/internal/http/answer.ts'

const file = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const [errors = '', reasons = ''] = file('docs/errors.md').split('## Reason codes')
const rows = (text: string) =>
  [...text.matchAll(/^\| `(\w+)` *\| (.*?) *\| (.*?) *\|$/gm)].map(([, code, when, mend]) => ({
    code,
    when,
    mend,
  }))

const src = fileURLToPath(new URL('../src', import.meta.url))
const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && path !== 'internal/errors.ts')
  .map((path) => file(`src/${path}`))
  .join('\n')

describe('docs/errors.md', () => {
  it('has each error code once, with when and what to do', () => {
    expect(
      rows(errors)
        .map(({ code }) => code)
        .sort(),
    ).toEqual([...ERROR_CODES].sort())
  })

  it('has each reason code of the package', () => {
    const type = /export type ReasonCode =([\s\S]*?)\(string & \{\}\)/.exec(
      file('src/gates/decision.ts'),
    )?.[1]
    const codes = [...(type ?? '').matchAll(/'(\w+)'/g)].map(([, code]) => code)

    expect(codes).toContain('policy_denied')
    expect(rows(reasons).map(({ code }) => code)).toEqual(expect.arrayContaining(codes))
    expect(rows(reasons)).toHaveLength(codes.length)
  })

  it('says of each when it comes and what to do', () => {
    for (const { code, when, mend } of [...rows(errors), ...rows(reasons)]) {
      expect([code, when?.length, mend?.length]).toEqual([code, expect.any(Number), expect.any(Number)])
      expect(`${code}: ${when} ${mend}`).toMatch(/: \S.{15,}\S \S/)
    }
  })

  it('says with which status an answer over HTTP is refused', () => {
    const said = (when = '') => Number(/\((\d{3})\)/.exec(when)?.[1]) || undefined
    for (const code of ERROR_CODES) {
      const { when } = rows(errors).find((row) => row.code === code) ?? {}
      expect([code, said(when)]).toEqual([code, statusOfRefusal(new HookspanError(code, ''))])
    }
  })

  it.each([...ERROR_CODES, ...rows(reasons).map(({ code }) => code)])(
    'tells of %s, which there is',
    (code) => {
      expect(sources).toContain(`'${code}'`)
    },
  )
})
