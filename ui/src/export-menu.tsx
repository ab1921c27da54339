/** Ways out of the viewer: files, a test, a text for a language model. */
import { Menu } from './list-menus.tsx'
import { CopyButton } from './parts.tsx'

/** Of the runs that are picked, else of all that the search finds. */
export function ExportMenu({ query, picked }: { query: string; picked: readonly string[] }) {
  const which = picked.length > 0 ? `runs=${picked.join(',')}` : `q=${encodeURIComponent(query)}`
  const href = (format: string) => `/api/export?format=${format}&${which}`
  const words = picked.length === 1 ? picked[0]! : picked.length > 1 ? '' : query
  return (
    <Menu name="Export">
      <p class="hint">{picked.length > 0 ? 'The picked runs' : 'All runs that are found'}</p>
      <ul>
        <li>
          <a href={href('otlp')} download>
            OTLP (JSON)
          </a>
        </li>
        <li>
          <a href={href('jsonl')} download>
            Data set (JSONL)
          </a>
        </li>
        <li>
          <a href={href('vitest')}>Test (vitest)</a>
        </li>
      </ul>
      {words !== '' && (
        <CopyButton
          text={() => testCommand(words)}
          title="A command that writes a test with mocks and what is expected"
        >
          Copy as test
        </CopyButton>
      )}
    </Menu>
  )
}

/** It is run in the project, which the page knows nothing of. */
export function testCommand(words: string): string {
  const quoted = /^[\w.:-]+$/.test(words) ? words : `'${words.replaceAll("'", "'\\''")}'`
  return `npx hookspan export ${quoted} --url ${location.origin} --format vitest --out recorded.test.ts`
}
