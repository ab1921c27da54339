/** Texts in which what differs from run to run has names of its own. */
export interface Words {
  replace(text: string, by: string): void
  of(value: unknown): string
}

const VOLATILE =
  /^(uuid|session_id|timestamp|duration_ms|duration_api_ms|ttft_ms|time_to_request_ms|ttft_stream_ms|request_id|total_cost_usd|costUSD|end_time|elapsed_time_seconds|apiKeySource|run_id|cache_control|output_file|outputFile|messaging_socket_path|memory_paths)$/

/** A string of JSON with this in it. */
const holding = (text: string) => new RegExp(`"(?:[^"\\\\]|\\\\.)*${text}(?:[^"\\\\]|\\\\.)*"`, 'g')

/** What Claude Code says of agents is long, and full of numbers. */
const HANDED = holding('\\[Subagent hand-back\\]')
const LAUNCHED = holding('Async agent launched')
const NOTIFIED = holding('<task-notification>')

export function inWords(): Words {
  const known: [string, string][] = []
  const ids = new Map<string, string>()
  const named = (text: string) => {
    let told = text
    for (const [from, to] of known) told = told.replaceAll(from, to)
    return told
      .replace(HANDED, (said) => `"handed back ${/done expert[-\d]*/.exec(said)}"`)
      .replace(LAUNCHED, '"launched"')
      .replace(NOTIFIED, (said) => `"notified ${/<tool-use-id>.*?<.*<status>.*?</.exec(said)}"`)
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
      .replace(/\b(a[0-9a-f]{16}|[ab][0-9a-z]{8})\b/g, (id) => {
        if (!/\d/.test(id)) return id
        const name = ids.get(id) ?? `TASK`
        ids.set(id, name)
        return name
      })
      .replace(/duration_ms[:>] ?\d+/g, 'duration_ms')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, 'NOW')
      .replace(/msg_scripted_\d+/g, 'MESSAGE')
      .replace(/hook_\d+/g, 'HOOK')
      .replace(/(shellId\\*"?: ?\\*"?)\d+/g, '$1N')
      .replace(/127\.0\.0\.1:\d+/g, 'SERVER')
      .replace(/-tmp-hookspan-claude-\w+/g, 'HOME')
      .replace(/"?\b\d+(\.\d+)?(ms|s)\b/g, 'TIME')
  }
  return {
    replace: (text, by) => void known.push([text, by]),
    of: (value) =>
      named(
        typeof value === 'string'
          ? value
          : JSON.stringify(value, (key, inner) => (VOLATILE.test(key) ? undefined : inner)),
      ),
  }
}
