import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

const folder = fileURLToPath(new URL('../../deploy/fleet', import.meta.url))
const read = (name: string) => readFileSync(join(folder, name), 'utf8')

interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  // biome-ignore lint/suspicious/noExplicitAny: read by path, as each kind has it
  readonly [field: string]: any
}

const FILES = readdirSync(join(folder, 'kubernetes'))
const resources = FILES.flatMap((file) =>
  parseAllDocuments(read(`kubernetes/${file}`)).map((document) => document.toJS() as Resource),
)
const compose = parse(read('docker-compose.yml'), { merge: true })
const ROLES = ['ingest', 'sampler', 'store', 'query'] as const

/** What a role's config reads of its environment. */
const variablesOf = (role: string) =>
  new Set([...read(`config/${role}.yaml`).matchAll(/\$\{env:(\w+)/g)].map(([, name]) => name))

/** Installed by `npm run fleet:install`. */
const schemas = new URL('engines/node_modules/kubernetes-models/', import.meta.url)

async function validate(resource: Resource): Promise<void> {
  const { href } = new URL(`${resource.apiVersion}/${resource.kind}.js`, schemas)
  const module = await import(/* @vite-ignore */ href)
  new module[resource.kind](resource).validate()
}

describe('the manifests for Kubernetes', () => {
  it.each(resources.map((resource) => [resource.kind, resource.metadata.name, resource] as const))(
    '%s %s is what its schema says',
    async (_kind, _name, resource) => {
      await validate(resource)
    },
  )

  it('are refused by the schema where they are wrong', async () => {
    const [one] = resources.filter(({ kind }) => kind === 'StatefulSet')
    await expect(validate({ ...one!, spec: { ...one!.spec, replicas: 'two' } })).rejects.toThrow(/replicas/)
    await expect(validate({ ...one!, spec: { ...one!.spec, selector: undefined } })).rejects.toThrow(
      /selector/,
    )
  })

  it('are all applied by the kustomization, with the configs', () => {
    const { resources: listed, configMapGenerator } = parse(read('kustomization.yaml'))
    expect([...listed].sort()).toEqual(FILES.map((file) => `kubernetes/${file}`).sort())
    const files = configMapGenerator.flatMap((map: { files: string[] }) => map.files)
    expect(files).toEqual([...ROLES.map((role) => `config/${role}.yaml`), 'topics.sh'])
    for (const file of files) expect(read(file)).not.toBe('')
  })

  it('are what kubectl puts together, each with the configs that it names', ({ skip }) => {
    const { stdout, error, status, stderr } = spawnSync('kubectl', ['kustomize', folder], {
      encoding: 'utf8',
    })
    if (error !== undefined) return skip('there is no kubectl')
    expect([status, stderr]).toEqual([0, ''])
    const made = parseAllDocuments(stdout).map((document) => document.toJS() as Resource)
    const named = (all: readonly Resource[]) =>
      all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()
    const maps = made.filter(({ kind }) => kind === 'ConfigMap')
    expect(named(made.filter((one) => !maps.includes(one)))).toEqual(named(resources))
    const asked = new Set(
      [...stdout.matchAll(/configMap:\n(?: +defaultMode: \d+\n)? +name: (\S+)/g)].map(([, name]) => name),
    )
    expect(asked).toEqual(new Set(maps.map(({ metadata }) => metadata.name)))
  })

  it.each(ROLES)(
    'give %s no variable that its config does not read, and the image of the compose file',
    (role) => {
      const workload = resources.find(({ kind, metadata }) => kind !== 'Service' && metadata.name === role)
      const [container] = workload!.spec.template.spec.containers
      const given = container.env.map(({ name }: { name: string }) => name)
      expect(given.filter((name: string) => !variablesOf(role).has(name))).toEqual([])
      expect(container.image).toBe(compose.services[role].image)
      expect(container.args).toEqual(compose.services[role].command)
    },
  )
})

it('keeps a sampler from saying how far it has read, however it is stopped', () => {
  expect(compose.services.sampler.stop_signal).toBe('SIGKILL')
  const sampler = resources.find(
    ({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'sampler',
  )
  expect(sampler!.spec.template.spec.containers[0].lifecycle.preStop.exec.command).toContain('kill -QUIT 1')
})

it.each(ROLES)(
  'reads in %s only variables that the head of its config, or of the compose file, can be asked for',
  (role) => {
    const told = `${read(`config/${role}.yaml`).split('\nservice:')[0]}${read('README.md')}`
    expect([...variablesOf(role)].filter((name) => !told.includes(name as string))).toEqual([])
  },
)
