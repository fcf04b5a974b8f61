/**
 * The app as a whole: which screen is shown, in which language, and what stands over it.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Deviations } from './deviations/deviations.tsx'
import { History } from './history/history.tsx'
import { Matrix } from './matrix/matrix.tsx'
import { sayIn } from './messages/messages.ts'
import { NodeNamed } from './node/node.tsx'
import { NodeList } from './node/node-list.tsx'
import { Overview } from './overview/overview.tsx'
import { Ports } from './ports/ports.tsx'
import { Palette } from './search/palette.tsx'
import { Away, Loading, Notices, TokenForm } from './shell/banner.tsx'
import { Shell } from './shell/shell.tsx'
import type { Data, DataSource } from './state/data.ts'
import { keepPreferences, preferences } from './state/preferences.ts'
import { type Route, routeFrom, stayingThen } from './state/route.ts'
import { usePast } from './state/snapshot.ts'
import { Topology } from './topology/topology.tsx'
import { Blank, Panel, UiContext, useUi } from './ui/ui.tsx'

export function App({ source }: { source: DataSource }) {
  const [data, setData] = useState(source.data)
  const [route, setRoute] = useState<Route>(() => routeFrom(location.hash))
  const [chosen, setChosen] = useState(preferences)
  const [now, setNow] = useState(Date.now)
  const [searching, setSearching] = useState(false)

  useEffect(() => source.subscribe(() => setData(source.data)), [source])
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5_000)
    return () => clearInterval(timer)
  }, [])
  useEffect(() => {
    const moved = () => {
      setRoute(was => {
        const staying = stayingThen(was, location.hash)
        if (staying) location.replace(staying)
        const is = routeFrom(staying ?? location.hash)
        if (is.screen !== was.screen || is.nodeName !== was.nodeName) scrollTo(0, 0)
        return is
      })
      setSearching(false)
    }
    addEventListener('hashchange', moved)
    return () => removeEventListener('hashchange', moved)
  }, [])
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest('input, select, textarea')
      const wanted =
        (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) || (event.key === '/' && !typing)
      if (!wanted) return
      event.preventDefault()
      setSearching(true)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])

  const say = useMemo(() => sayIn(chosen.language), [chosen.language])
  const { nodeName, screen } = route
  useEffect(() => {
    document.title = `${nodeName ?? say(`screen.${screen}`)} · MultiNIC`
  }, [nodeName, screen, say])

  const { asof } = route
  const past = usePast(asof)
  const ui = useMemo(() => {
    const then: Partial<Data> = { nodes: past?.nodes ?? [], complete: past?.complete ?? false, deviations: [] }
    return {
      say,
      language: chosen.language,
      now: asof ? Date.parse(asof) : Math.max(now, data.heard),
      data: asof ? { ...data, ...then, ...(past ? {} : { phase: 'loading' as const }) } : data,
      route,
      retry: source.retry,
    }
  }, [say, chosen.language, now, data, asof, past, route, source])
  const choose = (change: Partial<typeof chosen>) => {
    const next = { ...chosen, ...change }
    keepPreferences(next)
    setChosen(next)
  }
  return (
    <UiContext.Provider value={ui}>
      <Shell chosen={chosen} choose={choose} search={() => setSearching(true)}>
        <Notices />
        <Content />
      </Shell>
      {searching && <Palette close={() => setSearching(false)} />}
    </UiContext.Provider>
  )
}

function Content() {
  const { say, data, route } = useUi()
  if (data.phase !== 'ready')
    return (
      <>
        <Head />
        {data.phase === 'token' && <TokenForm />}
        {data.phase === 'away' && <Away />}
        {data.phase === 'loading' && <Loading />}
      </>
    )
  const { providerId, nodeName } = route
  switch (route.screen) {
    case 'history':
      return <History />
    case 'nodes':
      return nodeName ? <NodeNamed providerId={providerId} nodeName={nodeName} /> : <NodeList />
    case 'ports':
      return <Ports />
    default:
  }
  if (data.nodes.length === 0 && data.complete)
    return (
      <>
        <Head />
        <Panel>
          <Blank
            kind="empty"
            title={say('empty.first')}
            text={say('empty.firstText')}
            code="kubectl apply -k config/samples/"
          />
        </Panel>
      </>
    )
  switch (route.screen) {
    case 'matrix':
      return <Matrix />
    case 'topology':
      return <Topology />
    case 'deviations':
      return <Deviations />
    default:
      return <Overview />
  }
}

/** Where there is nothing to show yet, still what would be shown. */
function Head() {
  const { say, route } = useUi()
  return (
    <div class="head">
      <h1>{route.nodeName ?? say(`screen.${route.screen}`)}</h1>
    </div>
  )
}
