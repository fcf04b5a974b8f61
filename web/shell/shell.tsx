/**
 * The frame around every screen: where one can go, how live it is, theme and language.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Look, looks, type Node, needsPerson } from '../model/nodes.ts'
import { notTakenOf } from '../model/verdicts.ts'
import { commandKey, type Preferences, type Theme } from '../state/preferences.ts'
import { linkTo, type Screen } from '../state/route.ts'
import { count, type Language, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Icon, Segmented, useUi } from '../ui/ui.tsx'

const entries: readonly [screen: Screen, icon: string][] = [
  ['overview', 'home'],
  ['matrix', 'grid'],
  ['nodes', 'node'],
  ['topology', 'topo'],
  ['deviations', 'filter'],
  ['ports', 'net'],
  ['history', 'clock'],
]

interface ShellProps {
  chosen: Preferences
  choose: (change: Partial<Preferences>) => void
  search: () => void
  children: ComponentChildren
}

export function Shell({ chosen, choose, search, children }: ShellProps) {
  const { say, data } = useUi()
  const waiting = useMemo(
    () => data.nodes.reduce((sum, { nics }) => sum + nics.filter(nic => needsPerson(nic.look)).length, 0),
    [data.nodes],
  )
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        {say('app.skip')}
      </button>
      <div class="topm">
        <Brand />
        <span class="right">
          <Choices chosen={chosen} choose={choose} short />
          <button type="button" class="ib" aria-label={say('app.search')} onClick={search}>
            <Icon name="search" size={20} />
          </button>
        </span>
      </div>
      <div class="app">
        <aside class="side" aria-label="MultiNIC">
          <Brand />
          <button type="button" class="searchbtn" onClick={search}>
            <Icon name="search" size={14} />
            {say('app.search')}
            <span class="kbds">
              <kbd>{commandKey}</kbd> <kbd>K</kbd>
            </span>
          </button>
          <Screens class="nav" waiting={waiting} iconSize={16} />
          <Providers />
          <div class="foot">
            <Live />
            <div class="row">
              <Choices chosen={chosen} choose={choose} />
            </div>
          </div>
        </aside>
        <main class="main" id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Screens class="tabbar" waiting={0} iconSize={20} />
      <Announcer />
    </>
  )
}

function Brand() {
  return (
    <a class="brand" href={linkTo('overview')}>
      <Icon name="logo" size={20} />
      MultiNIC
    </a>
  )
}

function Screens({ class: kind, waiting, iconSize }: { class: string; waiting: number; iconSize: 16 | 20 }) {
  const { say, route, data, language } = useUi()
  const notTaken = useMemo(() => notTakenOf(data.verdicts, data.nodes).length, [data.verdicts, data.nodes])
  // On a phone, the ports are behind the deviations.
  const shown = kind === 'nav' ? entries : entries.filter(([screen]) => screen !== 'ports')
  const { providerId: provider } = route.screen === 'nodes' ? route : { providerId: route.query['provider'] }
  return (
    <nav class={kind} aria-label={say('app.screens')}>
      {shown.map(([screen, icon]) => (
        <a
          key={screen}
          href={linkTo(screen, screen === 'overview' ? {} : { provider })}
          aria-current={route.screen === screen ? 'page' : undefined}
        >
          <Icon name={icon} size={iconSize} />
          {say(`screen.${screen}`)}
          {screen === 'overview' && waiting > 0 && (
            <span class="ct hot" title={say('overview.needs')}>
              {waiting}
            </span>
          )}
          {screen === 'deviations' && kind === 'nav' && data.deviations.length > 0 && (
            <span class="ct">{data.deviations.length}</span>
          )}
          {screen === 'ports' && notTaken > 0 && <span class="ct">{count(notTaken, language)}</span>}
        </a>
      ))}
    </nav>
  )
}

export function providersOf(nodes: readonly Node[]): { providerId: string; nodes: Node[]; worst: Look }[] {
  return [...Map.groupBy(nodes, ({ providerId }) => providerId)]
    .map(([providerId, own]) => ({
      providerId,
      nodes: own,
      worst: looks.find(look => own.some(({ worst }) => worst === look)) ?? ('ok' as const),
    }))
    .sort((a, b) => looks.indexOf(a.worst) - looks.indexOf(b.worst) || (a.providerId < b.providerId ? -1 : 1))
}

function Providers() {
  const { say, data, route, language } = useUi()
  const providers = useMemo(() => providersOf(data.nodes), [data.nodes])
  if (providers.length === 0) return null
  return (
    <div class="provs">
      <div class="eyebrow">{say('app.providers')}</div>
      <nav class="nav" aria-label={say('app.providers')}>
        {providers.slice(0, 12).map(({ providerId, nodes, worst }) => (
          <a
            key={providerId}
            href={linkTo('matrix', { provider: providerId })}
            title={providerId}
            aria-current={route.query['provider'] === providerId && route.screen === 'matrix' ? 'true' : undefined}
          >
            <Glyph look={worst} />
            <span class="cut">{shortId(providerId, 12)}</span>
            <span class="ct">{count(nodes.length, language)}</span>
          </a>
        ))}
      </nav>
    </div>
  )
}

function Live() {
  const { say, data } = useUi()
  const word = data.live === 'on' ? 'live.on' : data.live === 'connecting' ? 'live.connecting' : 'live.off'
  return (
    <span class={`live ${data.live}`}>
      <i />
      {say(word)}
      <a class="docs" href="/docs">
        {say('app.docs')}
      </a>
    </span>
  )
}

const themes: readonly [Theme, string][] = [
  ['light', 'sun'],
  ['dark', 'moon'],
  ['system', 'auto'],
]

function Choices({ chosen, choose, short = false }: Pick<ShellProps, 'chosen' | 'choose'> & { short?: boolean }) {
  const { say } = useUi()
  const shown = short ? themes.slice(0, 2) : themes
  return (
    <>
      <Segmented<Theme>
        label={say('app.theme')}
        value={chosen.theme}
        choices={shown.map(([value, icon]) => ({
          value,
          name: say(`app.${value}`),
          label: <Icon name={icon} size={14} />,
        }))}
        onChoose={theme => choose({ theme })}
      />
      <Segmented<Language>
        label={say('app.language')}
        value={chosen.language}
        choices={[
          { value: 'en', label: 'EN', name: 'English', lang: 'en' },
          { value: 'ko', label: '한', name: '한국어', lang: 'ko' },
        ]}
        onChoose={language => choose({ language })}
      />
    </>
  )
}

/** Says changes to those who do not see them: the newest, at most one in five seconds. */
function Announcer() {
  const { say, data } = useUi()
  const [text, setText] = useState('')
  const newest = data.recent[0]
  const pending = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const latest = useRef('')
  useEffect(() => {
    const of = newest?.after ?? newest?.before
    if (!newest || !of || newest.id <= data.oldest) return
    latest.current = say('live.said', { node: of.nodeName, what: newest.why || say(`what.${newest.what}`) })
    pending.current ??= setTimeout(() => {
      pending.current = undefined
      setText(latest.current)
    }, 5_000)
  }, [newest, data.oldest, say])
  return (
    <div class="sr" aria-live="polite">
      {text}
    </div>
  )
}
