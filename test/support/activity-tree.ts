import type { Activity, ActivityEnd, ActivityScope, Plugin } from 'hookspan'

export interface ActivityNode {
  readonly activity: Activity
  readonly name: string
  readonly children: ActivityNode[]
  readonly ends: ActivityEnd[]
}

/** A plugin that keeps every activity, its place and its end: what a tracer is told, before it makes spans of it. */
export function activityTree(): {
  plugin: Plugin
  roots: ActivityNode[]
  all: ActivityNode[]
  lines(): string[]
} {
  const roots: ActivityNode[] = []
  const all: ActivityNode[] = []
  const nodes = new WeakMap<ActivityScope, ActivityNode>()
  const plugin: Plugin = {
    name: 'activity-tree',
    instrument: {
      start(activity, operation, parent) {
        const node: ActivityNode = {
          activity,
          name: nameOf(activity, operation.agentName),
          children: [],
          ends: [],
        }
        const scope: ActivityScope = { run: (fn) => fn(), end: (end) => void node.ends.push(end) }
        nodes.set(scope, node)
        all.push(node)
        const siblings = parent === undefined ? roots : (nodes.get(parent)?.children ?? roots)
        siblings.push(node)
        return scope
      },
    },
  }
  const show = (node: ActivityNode, depth: number): string[] => [
    `${'  '.repeat(depth)}${node.name}${endOf(node)}`,
    ...node.children.flatMap((child) => show(child, depth + 1)),
  ]
  return { plugin, roots, all, lines: () => roots.flatMap((root) => show(root, 0)) }
}

function nameOf(activity: Activity, agentName: string | undefined): string {
  switch (activity.kind) {
    case 'operation':
      return `invoke_agent ${agentName ?? '-'}`
    case 'llm':
      return `${activity.operationName ?? 'chat'} ${activity.model}`
    case 'tool':
      return `execute_tool ${activity.apiName}`
    case 'step':
      return `step ${activity.stepIndex}`
    default:
      return activity.kind
  }
}

function endOf({ ends }: ActivityNode): string {
  if (ends.length !== 1) return ` !ended ${ends.length} times`
  const end = ends[0]
  if (end?.kind === 'llm' && end.streamEnd === 'abandoned') return ' (abandoned)'
  return end?.error === undefined ? '' : ' (error)'
}
