/**
 * The frame of every screen: navigation, state of the live connection, theme and language.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Language } from '../messages/messages.ts'
import { deviationsIn } from '../model/deviations.ts'
import { causeOfEntry, headlineOf } from '../model/diff.ts'
import { attentionOf } from '../model/nodes.ts'
import { providersOf } from '../model/providers.ts'
import { ignoredVerdicts } from '../model/verdicts.ts'
import { commandKey, type Preferences, type Theme } from '../state/preferences.ts'
import { linkTo, type Screen } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { Segmented } from '../ui/controls.tsx'
import { count, providerText, providerTitle } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Icon } from '../ui/panel.tsx'

const screenIcons: readonly [screen: Screen, icon: string][] = [
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
  const { t, data } = useUi()
  const attention = useMemo(() => attentionOf(data.nodes).length, [data.nodes])
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        {t('app.skip')}
      </button>
      <div class="topbar">
        <Brand />
        <span class="right">
          <PreferenceControls chosen={chosen} choose={choose} short />
          <button type="button" class="icon-button" aria-label={t('app.search')} onClick={search}>
            <Icon name="search" size={20} />
          </button>
        </span>
      </div>
      <div class="app">
        <aside class="sidebar" aria-label="MultiNIC">
          <Brand />
          <button type="button" class="search-button" onClick={search}>
            <Icon name="search" size={14} />
            {t('app.search')}
            <span class="shortcut">
              <kbd>{commandKey}</kbd> <kbd>K</kbd>
            </span>
          </button>
          <Screens class="nav" attention={attention} iconSize={16} />
          <Providers />
          <div class="foot">
            <Live />
            <div class="row">
              <PreferenceControls chosen={chosen} choose={choose} />
            </div>
          </div>
        </aside>
        <main class="main" id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Screens class="tabbar" attention={0} iconSize={20} />
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

function Screens({ class: kind, attention, iconSize }: { class: string; attention: number; iconSize: 16 | 20 }) {
  const { t, route, data, language, now } = useUi()
  const deviations = useMemo(() => deviationsIn(data.nodes, now).length, [data.nodes, now])
  const ignored = useMemo(() => ignoredVerdicts(data.verdicts, data.nodes).length, [data.verdicts, data.nodes])
  const { providerId: provider } = route.screen === 'nodes' ? route : { providerId: route.query['provider'] }
  return (
    <nav class={kind} aria-label={t('app.screens')}>
      {screenIcons.map(([screen, icon]) => (
        <a
          key={screen}
          href={linkTo(screen, screen === 'overview' ? {} : { provider })}
          aria-current={route.screen === screen ? 'page' : undefined}
        >
          <Icon name={icon} size={iconSize} />
          {t(`screen.${screen}`)}
          {screen === 'overview' && attention > 0 && (
            <span class="count alert" title={t('overview.needsAttention')}>
              {attention}
            </span>
          )}
          {screen === 'deviations' && kind === 'nav' && deviations > 0 && (
            <span class="count">{count(deviations, language)}</span>
          )}
          {screen === 'ports' && kind === 'nav' && ignored > 0 && <span class="count">{count(ignored, language)}</span>}
        </a>
      ))}
    </nav>
  )
}

function Providers() {
  const { t, data, route, language } = useUi()
  const providers = useMemo(() => providersOf(data.nodes), [data.nodes])
  if (providers.length === 0) return null
  return (
    <div>
      <div class="eyebrow">{t('app.providers')}</div>
      <nav class="nav" aria-label={t('app.providers')}>
        {providers.slice(0, 12).map(({ providerId, providerName, nodes, worst }) => (
          <a
            key={providerId}
            href={linkTo('matrix', { provider: providerId })}
            title={providerTitle({ providerId, providerName })}
            aria-current={route.query['provider'] === providerId && route.screen === 'matrix' ? 'true' : undefined}
          >
            <Glyph severity={worst} />
            <span class="ellipsis">{providerText({ providerId, providerName }, 12)}</span>
            <span class="count">{count(nodes.length, language)}</span>
          </a>
        ))}
      </nav>
    </div>
  )
}

function Live() {
  const { t, data } = useUi()
  return (
    <span class={`live ${data.live}`}>
      <i />
      {t(`live.${data.live}`)}
      <a class="docs" href="/docs">
        {t('app.docs')}
      </a>
    </span>
  )
}

const themes: readonly [Theme, string][] = [
  ['light', 'sun'],
  ['dark', 'moon'],
  ['system', 'auto'],
]

function PreferenceControls({
  chosen,
  choose,
  short = false,
}: Pick<ShellProps, 'chosen' | 'choose'> & { short?: boolean }) {
  const { t } = useUi()
  const shown = short ? themes.slice(0, 2) : themes
  return (
    <>
      <Segmented<Theme>
        label={t('app.theme')}
        value={chosen.theme}
        choices={shown.map(([value, icon]) => ({
          value,
          name: t(`app.${value}`),
          label: <Icon name={icon} size={14} />,
        }))}
        onChoose={theme => choose({ theme })}
      />
      <Segmented<Language>
        label={t('app.language')}
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

/** Announces the newest change to screen readers, at most one every five seconds. */
function Announcer() {
  const { t, explain, data } = useUi()
  const [text, setText] = useState('')
  const newest = data.recent[0]
  const pending = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const latest = useRef('')
  useEffect(() => {
    const record = newest?.after ?? newest?.before
    if (!newest || !record || newest.id <= data.newestAtStart) return
    const { nics, severity } = headlineOf(newest)
    const cause = causeOfEntry(newest)
    const reason = cause && ` (${explain(cause).meaning || cause.reason})`
    const change =
      newest.what === 'status'
        ? `${nics} ${t(`severity.${severity}`)}${reason ?? ''}`
        : newest.why || t(`change.${newest.what}`)
    latest.current = t('live.announcement', { node: record.nodeName, change })
    pending.current ??= setTimeout(() => {
      pending.current = undefined
      setText(latest.current)
    }, 5_000)
  }, [newest, data.newestAtStart, t, explain])
  return (
    <div class="visually-hidden" aria-live="polite">
      {text}
    </div>
  )
}
