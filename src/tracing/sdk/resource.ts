interface Resource {
  merge(other: Resource): Resource
}

type Attributes = Record<string, string | number | boolean>

export interface ResourceAttributes {
  readonly known: Attributes
  readonly asked: Attributes
}

/** What is used of `@opentelemetry/resources`, which every SDK brings along. */
export interface ResourcesModule {
  defaultResource(): Resource
  resourceFromAttributes(attributes: Record<string, unknown>): Resource
  detectResources(options: { detectors: unknown[] }): Resource
  envDetector: unknown
}

/** What the SDK says of itself, over it what we know, what the environment says, and what was asked for. */
export function wholeResource(resources: ResourcesModule, { known, asked }: ResourceAttributes): Resource {
  return resources
    .defaultResource()
    .merge(resources.resourceFromAttributes(known))
    .merge(resources.detectResources({ detectors: [resources.envDetector] }))
    .merge(resources.resourceFromAttributes(asked))
}
