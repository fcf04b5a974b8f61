/**
 * The frame around every screen: where one can go, how live it is, theme and language; and what to say when there is no data.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { hasToken, keepToken } from './api.ts'
import { clock, count, type Language, shortId } from './format.ts'
import type { Preferences, Theme } from './preferences.ts'
import { linkTo, type Screen } from './route.ts'
import { Blank, Glyph, Icon, Panel, Segmented, useUi } from './ui.tsx'
import { type Look, looks, type Node, needsPerson } from './view.ts'

const entries: readonly [screen: Screen, icon: string][] = [
  ['overview', 'home'],
  ['matrix', 'grid'],
  ['nodes', 'node'],
  ['topology', 'topo'],
  ['deviations', 'filter'],
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
              <kbd>{/Mac|iP/.test(navigator.userAgent) ? '⌘' : 'Ctrl'}</kbd> <kbd>K</kbd>
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
  const { say, route, data } = useUi()
  const { providerId: provider } = route.screen === 'nodes' ? route : { providerId: route.query['provider'] }
  return (
    <nav class={kind} aria-label={say('app.screens')}>
      {entries.map(([screen, icon]) => (
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

export function Notices() {
  const { say, data, language, now, retry } = useUi()
  const [gone, setGone] = useState(false)
  const off = data.live !== 'on' && data.phase === 'ready'
  useEffect(() => {
    if (!off) return setGone(false)
    const timer = setTimeout(() => setGone(true), 2_000)
    return () => clearTimeout(timer)
  }, [off])
  if (!gone) return null
  return (
    <div class="notice warn" role="status">
      <Glyph look="held" large />
      <div>
        <b>{say('live.stopped')}</b>
        <p>{say('live.since', { time: clock(data.heard, now, language) })}</p>
      </div>
      <button type="button" class="btn sm" onClick={retry}>
        {say('live.retry')}
      </button>
    </div>
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

export function Away() {
  const { say, data, retry } = useUi()
  return (
    <Panel>
      <Blank kind="away" title={say('error.away')} text={say('error.awayText')} code={data.problem}>
        <button type="button" class="btn prim" onClick={retry}>
          {say('error.retry')}
        </button>
      </Blank>
    </Panel>
  )
}

export function TokenForm() {
  const { say, retry } = useUi()
  const [token, setToken] = useState('')
  const [refused] = useState(hasToken)
  const use = (event: Event) => {
    event.preventDefault()
    keepToken(token.trim())
    retry()
  }
  return (
    <Panel>
      <Blank
        kind="token"
        title={say('error.token')}
        text={refused ? say('error.tokenWrong') : say('error.tokenText')}
      />
      <form class="tokenform" onSubmit={use}>
        <label class="field">
          <span class="sr">{say('error.tokenLabel')}</span>
          <input
            type="password"
            autocomplete="off"
            placeholder={say('error.tokenLabel')}
            value={token}
            onInput={event => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="btn prim" disabled={token.trim() === ''}>
          {say('error.tokenUse')}
        </button>
      </form>
    </Panel>
  )
}
