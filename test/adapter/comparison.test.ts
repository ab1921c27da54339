import type { ContractSubject } from 'hookspan/adapter/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import { docsPage, markdownTable } from '../support/docs-page.ts'
import { differencesOf } from './comparison/differences.ts'
import { KNOWN, type Known } from './comparison/known.ts'
import { ASIDE } from './comparison/normal-form.ts'
import { type Part, toldBy } from './comparison/told.ts'
import { SUBJECTS } from './subjects/index.ts'

type ToldBy = Awaited<ReturnType<typeof toldBy>>

const [reference, ownLoop, ...others] = SUBJECTS as readonly [ContractSubject, ...ContractSubject[]]
let expected: readonly ToldBy[]
beforeAll(async () => {
  // It reads its streams itself, so that only a loop of one's own shows how one is abandoned.
  expected = [await toldBy(reference), await toldBy(ownLoop as ContractSubject)]
})

const partOf = (told: ToldBy, scenario: string, name: string): Part | undefined =>
  told.get(scenario)?.find((part) => part.name === name)

const isKnown = ({ where, when }: Known, scenario: string, difference: string) =>
  where.includes(difference) && (when === undefined || scenario.includes(when))

describe('the same scenario is told alike on every SDK', () => {
  it.each([ownLoop, ...others] as ContractSubject[])('$name', async (subject) => {
    const known = KNOWN.filter(({ of }) => of.includes(subject.name))
    const seen = new Set<string>()
    const unknown: object[] = []
    const told = await toldBy(subject)

    for (const [scenario, parts] of told) {
      for (const part of parts) {
        const [first, second] = expected.map((one) => partOf(one, scenario, part.name))
        const other = first ?? second
        expect(other, `${scenario}: ${part.name}`).toBeDefined()
        for (const difference of differencesOf(other as Part, part)) {
          const row = known.find((one) => isKnown(one, scenario, difference.where))
          if (row === undefined) unknown.push({ scenario, part: part.name, ...difference })
          else seen.add(`${KNOWN.indexOf(row)} ${difference.where}`)
        }
      }
    }

    expect(unknown).toEqual([])
    const listed = known.flatMap((row) => row.where.map((where) => `${KNOWN.indexOf(row)} ${where}`))
    expect(
      listed.filter((one) => !seen.has(one)),
      'known differences that are none',
    ).toEqual([])
    expect(told.size).toBeGreaterThan(9)
  })
})

describe('docs/adapters/compared.md', () => {
  const page = docsPage('adapters/compared.md')
  const code = (names: readonly string[]) => [...new Set(names)].map((name) => `\`${name}\``).join(', ')

  it('says what is aside when SDKs are compared', () => {
    const rows = ASIDE.map(({ what, why, attributes }) => [what, code(attributes), why])
    expect(page).toContain(markdownTable(['aside', 'attributes', 'why'], rows))
  })

  it('says how the SDKs differ, and why', () => {
    const rows = KNOWN.map(({ of, where, when, why }) => [
      code(of.map((name) => name.replace(/ of version \d$/, ''))),
      code(where.map((one) => one.replace(/^\w+ (?=gen_ai|hookspan)/, ''))),
      when ?? 'all',
      why,
    ])
    expect(page).toContain(markdownTable(['on', 'differs in', 'where it', 'because'], rows))
  })
})
