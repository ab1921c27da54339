import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { OtlpResource, OtlpScope } from '../../internal/otlp/types.ts'
import { NAMES, readText } from '../model/attributes.ts'
import type { Attributes } from '../model/span.ts'
import { plainAttributes } from '../otlp/plain.ts'

export interface OriginFacts {
  resource: Attributes
  service: string
  otlpResource: OtlpResource
  otlpScope: OtlpScope
}

export function originFacts(otlpResource: OtlpResource, otlpScope: OtlpScope): OriginFacts {
  const resource = plainAttributes(otlpResource.attributes)
  return { resource, service: readText(resource, NAMES.serviceName), otlpResource, otlpScope }
}

/** Where spans came from: resource and scope, each stored once. */
export class Origins {
  readonly #find: StatementSync
  readonly #known = new Map<number, OriginFacts>()

  constructor(db: DatabaseSync) {
    this.#find = db.prepare('SELECT resource, scope FROM origin WHERE id = ?')
  }

  get(id: number): OriginFacts {
    const known = this.#known.get(id)
    if (known) return known
    const stored = this.#find.get(id) as { resource: string; scope: string } | undefined
    const facts = originFacts(
      stored ? (JSON.parse(stored.resource) as OtlpResource) : {},
      stored ? (JSON.parse(stored.scope) as OtlpScope) : {},
    )
    if (this.#known.size >= 1000) this.#known.clear()
    this.#known.set(id, facts)
    return facts
  }
}
