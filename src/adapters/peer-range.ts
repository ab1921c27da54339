import { testedIn, warnUntested } from '../internal/version-range.ts'

const OWN = new URL('../../package.json', import.meta.url)

/** The versions of an SDK that its adapter is tested with, as the package says: `>=1.2 <3`. */
export const testedRange = (name: string): string | undefined => testedIn(OWN, name)

/** Says once when the SDK that is installed beside hookspan is none of the versions that its adapter was tested with. */
export function warnOfVersion(name: string, from: string = import.meta.url): void {
  warnUntested(name, from, OWN)
}
export { isWithin } from '../internal/version-range.ts'
