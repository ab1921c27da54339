/** The page's addresses. Each view and each span has one; in an offline file they live behind the `#`. */
import { useEffect, useState } from 'preact/hooks'
import { NEWEST_FIRST, SORT_KEYS } from '../../src/viewer/model/query-keys.ts'
import { USE_KINDS, type UseKind } from '../../src/viewer/model/run-uses.ts'

export type View = 'timeline' | 'tree' | 'conversation' | 'graph' | 'events' | 'lint'
export const VIEWS: readonly View[] = ['timeline', 'tree', 'conversation', 'graph', 'events', 'lint']

export type Route =
  | {
      page: 'runs'
      query: string
      grouped: boolean
      sort: string
      /** Keys of the columns, with commas between them; empty for the usual ones. */
      columns: string
    }
  | {
      page: 'run'
      traceId: string
      view: View
      spanId: string
      /** Searched for in it. */
      find?: string | undefined
      /** The part of the timeline that is shown: two shares of the whole, with a comma between them. */
      zoom?: string | undefined
    }
  | { page: 'compare'; a: string; b: string /** Percent of the words that may differ. */; noise?: number }
  /** Several runs, act by act. */
  | { page: 'steps'; runs: readonly string[]; exactly: boolean }
  | { page: 'uses'; kind: UseKind; query: string }
  /** Two searches. */
  | { page: 'sets'; a: string; b: string }
  /** Nothing has this address. */
  | { page: 'nowhere'; path: string }

const offline = document.getElementById('offline-run') !== null
export let offlineTraceId = ''
export const setOfflineTraceId = (traceId: string) => {
  offlineTraceId = traceId
}

export function pathOf(route: Route): string {
  const params = new URLSearchParams()
  let path = '/'
  if (route.page === 'runs') {
    if (route.query) params.set('q', route.query)
    if (route.grouped) params.set('group', '1')
    if (route.sort !== NEWEST_FIRST) params.set('sort', route.sort)
    if (route.columns) params.set('columns', route.columns)
  } else if (route.page === 'run') {
    path = `/run/${route.traceId}`
    if (route.view !== 'timeline') params.set('view', route.view)
    if (route.spanId) params.set('span', route.spanId)
    if (route.find) params.set('find', route.find)
    if (route.zoom) params.set('zoom', route.zoom)
  } else if (route.page === 'uses') {
    path = `/by/${route.kind}`
    if (route.query) params.set('q', route.query)
  } else if (route.page === 'sets') {
    path = '/sets'
    if (route.a) params.set('a', route.a)
    if (route.b) params.set('b', route.b)
  } else if (route.page === 'steps') {
    path = `/steps/${route.runs.join()}`
    if (route.exactly) params.set('exactly', '1')
  } else if (route.page === 'nowhere') {
    path = route.path
  } else {
    path = `/compare/${route.a}/${route.b}`
    if (route.noise) params.set('noise', String(route.noise))
  }
  const search = params.size > 0 ? `?${params}` : ''
  return `${offline ? '#' : ''}${path}${search}`
}

function current(): Route {
  const [path, search] = offline ? location.hash.slice(1).split('?') : [location.pathname, location.search]
  const params = new URLSearchParams(search ?? '')
  const view = params.get('view') as View
  const run = /^\/run\/([0-9a-f]{4,32})$/.exec(path ?? '')
  const shown = {
    view: VIEWS.includes(view) ? view : ('timeline' as View),
    spanId: /^[0-9a-f]{16}$/.exec(params.get('span') ?? '')?.[0] ?? '',
    find: params.get('find') ?? '',
    zoom: params.get('zoom') ?? '',
  }
  if (offline) return { page: 'run', traceId: offlineTraceId, ...shown }
  if (run) return { page: 'run', traceId: run[1]!, ...shown }
  const compare = /^\/compare\/([0-9a-f]{4,32})\/([0-9a-f]{4,32})$/.exec(path ?? '')
  if (compare) {
    const noise = Math.max(0, Math.min(100, Number(params.get('noise')) || 0))
    return { page: 'compare', a: compare[1]!, b: compare[2]!, noise }
  }
  const steps = /^\/steps\/([0-9a-f]{4,32}(?:,[0-9a-f]{4,32})*)$/.exec(path ?? '')
  if (steps) return { page: 'steps', runs: steps[1]!.split(','), exactly: params.get('exactly') === '1' }
  const kind = USE_KINDS.find((one) => path === `/by/${one}`)
  if (path === '/sets') return { page: 'sets', a: params.get('a') ?? '', b: params.get('b') ?? '' }
  if (kind) return { page: 'uses', kind, query: params.get('q') ?? '' }
  if (path !== '/' && path !== '/index.html') return { page: 'nowhere', path: path ?? '' }
  return {
    page: 'runs',
    query: params.get('q') ?? '',
    grouped: params.get('group') === '1',
    sort: sortOf(params.get('sort')),
    columns: (params.get('columns') ?? '').replace(/[^a-z,]/g, ''),
  }
}

function sortOf(given: string | null): string {
  return given !== null && Object.hasOwn(SORT_KEYS, given.replace(/^-/, '')) ? given : NEWEST_FIRST
}

export type UsesRoute = Extract<Route, { page: 'uses' }>
export type SetsRoute = Extract<Route, { page: 'sets' }>
export type ListRoute = Extract<Route, { page: 'runs' }>
let list: ListRoute = { page: 'runs', query: '', grouped: false, sort: NEWEST_FIRST, columns: '' }
export const rememberList = (route: ListRoute): void => {
  list = route
}
/** The list as it was left: with its search, its grouping and its order. */
export const listRoute = (): ListRoute => list

/** `replace` for what Back should skip, such as every letter of a search. */
export function go(route: Route, replace = false): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', pathOf(route))
  dispatchEvent(new PopStateEvent('popstate'))
}

/** Of the run that is shown now, in whichever view: of another one it is no zoom. */
export function keepZoom(traceId: string, zoom: string): void {
  const route = current()
  if (route.page === 'run' && route.traceId === traceId) go({ ...route, zoom }, true)
}

export function useRoute(): Route {
  const [route, setRoute] = useState(current)
  useEffect(() => {
    const update = () => setRoute(current())
    addEventListener('popstate', update)
    addEventListener('hashchange', update)
    return () => {
      removeEventListener('popstate', update)
      removeEventListener('hashchange', update)
    }
  }, [])
  return route
}
