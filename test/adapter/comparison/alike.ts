import type { ContractSubject } from 'hookspan/adapter/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import { execAgentSubject } from '../subjects/exec-agent.ts'
import { ownLoopSubject } from '../subjects/own-loop.ts'
import { differencesOf } from './differences.ts'
import { KNOWN, type Known } from './known.ts'
import { type Part, toldBy } from './told.ts'

type ToldBy = Awaited<ReturnType<typeof toldBy>>

/** Each scenario, one after the other: an agent that is a process of its own takes seconds for each. */
const TIMEOUT_MS = 600_000

const partOf = (told: ToldBy, scenario: string, name: string): Part | undefined =>
  told.get(scenario)?.find((part) => part.name === name)

const isKnown = ({ where, when }: Known, scenario: string, difference: string) =>
  where.includes(difference) && (when === undefined || scenario.includes(when))

/** Holds each subject to what the reference agent tells, but for the differences that are known of it. */
export function tellAlike(subjects: readonly ContractSubject[], toldOf: typeof toldBy = toldBy): void {
  describe('the same scenario is told alike on every SDK', () => {
    let expected: readonly ToldBy[]
    beforeAll(async () => {
      // It reads its streams itself, so that only a loop of one's own shows how one is abandoned.
      expected = [await toldBy(execAgentSubject), await toldBy(ownLoopSubject)]
    })

    it.each(subjects)(
      '$name',
      async (subject) => {
        const known = KNOWN.filter(({ of }) => of.includes(subject.name))
        const seen = new Set<string>()
        const unknown: object[] = []
        const told = await toldOf(subject)

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
      },
      TIMEOUT_MS,
    )
  })
}
