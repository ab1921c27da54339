import { basename, dirname, join } from 'node:path'
import { assertKnown } from '../internal/expect.ts'
import type { RedactRecording, ReplayMode, ToolDeclaration } from '../mock/index.ts'

export interface ReplayFixtureOptions {
  /** @default `HOOKSPAN_REPLAY_MODE`, else `strict` in CI (`CI=true`), else `auto` */
  mode?: ReplayMode
  redact?: RedactRecording
  tools?: readonly ToolDeclaration[]
  /** Where the recordings are. @default `__recordings__` beside the test file */
  folder?: string
}

/** One file per test, named after both. */
export function recordingPath(
  testFile: string,
  testName: string,
  options: ReplayFixtureOptions = {},
): string {
  assertKnown(options, ['mode', 'redact', 'tools', 'folder'], 'replay()')
  const { folder } = options
  const slug = testName.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '')
  return join(folder ?? join(dirname(testFile), '__recordings__'), basename(testFile), `${slug}.json`)
}
