import { isIPv6 } from 'node:net'
import { expected } from '../expect.ts'

/**
 * Names by which a server may be called, as it reads them out of `Host`.
 *
 * @throws HookspanError `INVALID_OPTION` for one that no `Host` could ever be.
 */
export function hostNames(names: readonly string[]): string[] {
  return names.map((name) => {
    const host = name.trim().toLowerCase()
    if (isIPv6(host)) return `[${host}]`
    if (/^(\[[0-9a-f:.]+\]|[^\s:/@?#*[\]]+)$/.test(host)) return host
    throw expected(
      'each allowed host to be a name such as "traces.example.org", without scheme, port, path or *',
      name,
    )
  })
}
