/**
 * The app: which screen is shown and in which language, the banner above it and the search on top of it.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Deviations } from './deviations/deviations.tsx'
import { History } from './history/history.tsx'
import { Matrix } from './matrix/matrix.tsx'
import { translator } from './messages/messages.ts'
import { NodeByName } from './node/node.tsx'
import { NodeList } from './node/node-list.tsx'
import { Overview } from './overview/overview.tsx'
import { Ports } from './ports/ports.tsx'
import { Palette } from './search/palette.tsx'
import { Banner, Loading, TokenForm, Unreachable } from './shell/banner.tsx'
import { Shell } from './shell/shell.tsx'
import type { Data, DataSource } from './state/data.ts'
import { preferences, savePreferences } from './state/preferences.ts'
import { useExplain } from './state/reasons.ts'
import { keepSnapshotTime, type Route, routeFrom } from './state/route.ts'
import { useSnapshot } from './state/snapshot.ts'
import { Topology } from './topology/topology.tsx'
import { UiContext, useUi } from './ui/context.ts'
import { EmptyState } from './ui/empty-state.tsx'
import { Panel } from './ui/panel.tsx'

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
    const onHashChange = () => {
      setRoute(current => {
        const kept = keepSnapshotTime(current, location.hash)
        if (kept) location.replace(kept)
        const next = routeFrom(kept ?? location.hash)
        if (next.screen !== current.screen || next.nodeName !== current.nodeName) scrollTo(0, 0)
        return next
      })
      setSearching(false)
    }
    addEventListener('hashchange', onHashChange)
    return () => removeEventListener('hashchange', onHashChange)
  }, [])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.closest('input, select, textarea')
      const opensSearch =
        (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) || (event.key === '/' && !isTyping)
      if (!opensSearch) return
      event.preventDefault()
      setSearching(true)
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])

  const t = useMemo(() => translator(chosen.language), [chosen.language])
  const explain = useExplain(chosen.language)
  const { nodeName, screen } = route
  useEffect(() => {
    document.title = `${nodeName ?? t(`screen.${screen}`)} · MultiNIC`
  }, [nodeName, screen, t])

  const { asof } = route
  const snapshot = useSnapshot(asof)
  const ui = useMemo(() => {
    const past: Partial<Data> = {
      nodes: snapshot?.nodes ?? [],
      complete: snapshot?.complete ?? false,
      deviations: [],
    }
    return {
      t,
      explain,
      language: chosen.language,
      now: asof ? Date.parse(asof) : Math.max(now, data.lastContact),
      data: asof ? { ...data, ...past, ...(snapshot ? {} : { phase: 'loading' as const }) } : data,
      route,
      retry: source.retry,
    }
  }, [t, explain, chosen.language, now, data, asof, snapshot, route, source])
  const choose = (change: Partial<typeof chosen>) => {
    const next = { ...chosen, ...change }
    savePreferences(next)
    setChosen(next)
  }
  return (
    <UiContext.Provider value={ui}>
      <Shell chosen={chosen} choose={choose} search={() => setSearching(true)}>
        <Banner />
        <Content />
      </Shell>
      {searching && <Palette close={() => setSearching(false)} />}
    </UiContext.Provider>
  )
}

function Content() {
  const { t, data, route } = useUi()
  if (data.phase !== 'ready')
    return (
      <>
        <Heading />
        {data.phase === 'unauthorized' && <TokenForm />}
        {data.phase === 'unreachable' && <Unreachable />}
        {data.phase === 'loading' && <Loading />}
      </>
    )
  const { providerId, nodeName } = route
  switch (route.screen) {
    case 'history':
      return <History />
    case 'nodes':
      return nodeName ? <NodeByName providerId={providerId} nodeName={nodeName} /> : <NodeList />
    case 'ports':
      return <Ports />
    default:
  }
  if (data.nodes.length === 0 && data.complete)
    return (
      <>
        <Heading />
        <Panel>
          <EmptyState
            kind="empty"
            title={t('empty.title')}
            text={t('empty.text')}
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

/** The title of a screen that has no data to show. */
function Heading() {
  const { t, route } = useUi()
  return (
    <div class="head">
      <h1>{route.nodeName ?? t(`screen.${route.screen}`)}</h1>
    </div>
  )
}
