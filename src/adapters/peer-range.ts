import { findInstalled, testedIn, warnUntested } from '../internal/version-range.ts'

/** A bundle of CommonJS has none. */
const HERE = import.meta.url as string | undefined

/** The versions of an SDK that its adapter is tested with, as the package says: `>=1.2 <3`. */
export const testedRange = (name: string): string | undefined => testedIn(HERE, name)

/** Says once when the SDK that is installed beside hookspan is none of the versions that its adapter was tested with. */
export function warnOfVersion(name: string, from: string = HERE ?? ''): void {
  warnUntested(name, from, HERE)
}
/** The version that is installed beside hookspan, where somebody can tell. */
export function ownVersionOf(name: string): string | undefined {
  return HERE === undefined ? undefined : findInstalled(name, HERE)?.version
}

export { findInstalled, isWithin } from '../internal/version-range.ts'
