/**
 * Is anything waiting for a person? How fast is an attach? How are the providers, and what happened last?
 */
import { useMemo } from 'preact/hooks'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { changesOf, entryLook, nicRange } from '../model/diff.ts'
import { type Counts, countsOf, type Look, looks, type Nic, type Node, needsPerson } from '../model/nodes.ts'
import { latencyOf, totalOf } from '../model/stages.ts'
import { providersOf } from '../shell/shell.tsx'
import { downloadCsv } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { age, count, duration, exact, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Badge, Blank, CsvButton, Icon, Panel, StateWord, useUi } from '../ui/ui.tsx'
import { LatencyPanel } from './latency.tsx'

export function Overview() {
  const { say, data, route, language } = useUi()
  const counts = useMemo(() => countsOf(data.nodes), [data.nodes])
  const providers = useMemo(() => providersOf(data.nodes), [data.nodes])
  return (
    <>
      <div class="head">
        <h1>{say('screen.overview')}</h1>
        <span class="sub">
          {say('many.providers', { n: count(providers.length, language) })} ·{' '}
          {say('many.nics', { n: count(counts.nics, language) })}
        </span>
        <div class="right">
          <CsvButton save={() => void downloadCsv({ at: route.asof })} />
        </div>
      </div>
      <Strip counts={counts} />
      <div class="cols a">
        <Todo nics={counts.nics} />
        <LatencyPanel />
      </div>
      <div class="cols a">
        <ProviderTable providers={providers} />
        <Feed />
      </div>
    </>
  )
}

function Strip({ counts }: { counts: Counts }) {
  const { say, language } = useUi()
  const cells: readonly Look[] = ['prog', 'pend', 'bad', 'drift', 'held']
  const moving = counts.prog + counts.rem
  return (
    <section class="panel strip">
      <a href={linkTo('nodes')}>
        <span class="lab">{say('overview.nodes')}</span>
        <span class="val">{count(counts.nodes, language)}</span>
        <span class="note">{say('overview.moving', { n: moving })}</span>
      </a>
      <a href={linkTo('matrix', { look: 'ok' })}>
        <span class="lab">
          <Glyph look="ok" />
          {say('overview.configured')}
        </span>
        <span class="val">
          {count(counts.ok, language)} <small>/ {count(counts.nics, language)}</small>
        </span>
        <SegBar counts={counts} />
      </a>
      {cells.map(look => (
        <a key={look} href={linkTo('matrix', { look })}>
          <span class="lab">
            <Glyph look={look} />
            {say(`look.${look}`)}
          </span>
          <span class={`val ${counts[look] === 0 ? 'none' : ''}`}>{count(counts[look], language)}</span>
        </a>
      ))}
    </section>
  )
}

const fills: Record<Look, string> = {
  ok: 'b-ok',
  prog: 'b-acc',
  pend: 'b-idle',
  rem: 'b-idle',
  drift: 'b-warn',
  held: 'b-warn',
  bad: 'b-bad',
}

/** The smallest part is wide enough to be seen: one failure among thousands is what it is for. */
function SegBar({ counts }: { counts: Counts }) {
  const parts = looks.toReversed().filter(look => counts[look] > 0)
  const raw = parts.map(look => Math.max(2.4, (100 * counts[look]) / Math.max(1, counts.nics)))
  const scale = (100 - (parts.length - 1) * 0.6) / raw.reduce((sum, width) => sum + width, 0)
  let x = 0
  return (
    <svg class="segbar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      {parts.length === 0 && <rect class="b-bg" width="100" height="6" />}
      {parts.map((look, index) => {
        const width = (raw[index] ?? 0) * scale
        const at = x
        x += width + 0.6
        return <rect key={look} class={fills[look]} x={at} width={width} height="6" />
      })}
    </svg>
  )
}

interface Waiting {
  node: Node
  nic: Nic
  since: string
}

/** Long ones are cut: who has many has the matrix. */
const mostTodo = 7

function Todo({ nics }: { nics: number }) {
  const { say, data, now, language } = useUi()
  const waiting = useMemo(() => {
    const found = data.nodes.flatMap(node =>
      node.nics
        .filter(nic => needsPerson(nic.look) || (nic.look === 'pend' && nic.remedy !== ''))
        .map((nic): Waiting => ({ node, nic, since: node.updatedAt })),
    )
    return found.sort((a, b) => looks.indexOf(a.nic.look) - looks.indexOf(b.nic.look) || (a.since < b.since ? 1 : -1))
  }, [data.nodes])
  return (
    <Panel
      title={say('overview.needs')}
      badge={waiting.length > 0 && <Badge tone="bad">{count(waiting.length, language)}</Badge>}
      right={<span class="hidem">{say('overview.rest')}</span>}
    >
      {waiting.length === 0 && (
        <Blank
          kind="calm"
          title={say('overview.calm')}
          text={say('overview.calmText', { nics: say('many.nics', { n: count(nics, language) }) })}
        />
      )}
      <ul class="todo">
        {waiting.slice(0, mostTodo).map(({ node, nic, since }) => (
          <li key={`${node.key} ${nic.name}`}>
            <Glyph look={nic.look} />
            <div>
              <p class="tt">
                {node.nodeName} {nic.name} · {nic.reason || say(`look.${nic.look}`)}
              </p>
              <p class="ds">{nic.differences[0] ? differenceText(nic) : nic.message || nic.remedy}</p>
            </div>
            <div class="ac">
              <span class="age" title={exact(since, language)}>
                {age(since, now, say)}
              </span>
              <a class="btn sm" href={linkToNode(node, nic.name)}>
                {say(nic.look === 'drift' ? 'overview.compare' : 'overview.open')}
              </a>
            </div>
          </li>
        ))}
      </ul>
      {waiting.length > mostTodo && (
        <a class="more" href={linkTo('deviations')}>
          {say('overview.more', { n: count(waiting.length, language) })}
          <Icon name="right" size={12} />
        </a>
      )}
    </Panel>
  )
}

export function differenceText({ differences }: Pick<Nic, 'differences'>): string {
  return differences.map(({ field, wanted, observed }) => `${field} ${observed} ≠ ${wanted}`).join(' · ')
}

function ProviderTable({ providers }: { providers: ReturnType<typeof providersOf> }) {
  const { say, now, language } = useUi()
  const rows = useMemo(
    () =>
      providers.map(({ providerId, nodes }) => ({
        ...{ providerId, nodes, counts: countsOf(nodes), p95: latencyOf(nodes)?.p95 },
        changed: nodes.reduce((newest, { updatedAt }) => (updatedAt > newest ? updatedAt : newest), ''),
      })),
    [providers],
  )
  const columns: readonly [name: string, of: (counts: Counts) => number, tone: string][] = [
    [say('look.ok'), counts => counts.ok, ''],
    [say('overview.onTheWay'), counts => counts.prog + counts.pend + counts.rem, 'acc'],
    [say('look.bad'), counts => counts.bad, 'bad'],
    [say('look.drift'), counts => counts.drift, 'warn'],
    [say('look.held'), counts => counts.held, 'warn'],
  ]
  return (
    <Panel title={say('app.providers')} right={say('overview.byState')}>
      <div class="scrollx">
        <table class="tbl rows tall byprov">
          <thead>
            <tr>
              <th>{say('overview.provider')}</th>
              <th>{say('overview.health')}</th>
              {columns.map(([name]) => (
                <th key={name} class="num">
                  {name}
                </th>
              ))}
              <th class="num">p95</th>
              <th class="num">{say('overview.changed')}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ providerId, nodes, counts, p95, changed }) => (
              <tr key={providerId}>
                <td>
                  <a class="prov" href={linkTo('matrix', { provider: providerId })} title={providerId}>
                    <b>{shortId(providerId, 10)}</b>
                    <span>{say('many.nodes', { n: count(nodes.length, language) })}</span>
                  </a>
                </td>
                <td>
                  <Health counts={counts} />
                </td>
                {columns.map(([name, of, tone]) => {
                  const n = of(counts)
                  return (
                    <td key={name} class={`num hidem ${n === 0 ? 'zero' : tone && `${tone} strong`}`}>
                      {count(n, language)}
                    </td>
                  )
                })}
                <td class="num hidem nowrap">{p95 === undefined ? '–' : duration(p95, say)}</td>
                <td class="num hidem nowrap dim">{age(changed, now, say)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function Health({ counts }: { counts: Counts }) {
  const { say } = useUi()
  const wrong = looks.filter(look => needsPerson(look) && counts[look] > 0)
  const [first] = wrong
  if (first)
    return <StateWord look={first} text={wrong.map(look => say(`many.${look}`, { n: counts[look] })).join(', ')} />
  const moving = (['pend', 'prog', 'rem'] as const).find(look => counts[look] > 0)
  if (moving) return <StateWord look={moving} text={say(`many.${moving}`, { n: counts[moving] })} />
  return <StateWord look="ok" text={say('overview.healthy')} />
}

function Feed() {
  const { say, data } = useUi()
  return (
    <Panel
      title={say('overview.recent')}
      right={
        <span class={`live ${data.live}`}>
          <i />
          {say(data.live === 'on' ? 'live.on' : 'live.off')}
        </span>
      }
    >
      {data.recent.length === 0 && <Blank kind="calm" title={say('overview.noRecent')} />}
      <ol class="feed">
        {data.recent.slice(0, 6).map(entry => (
          <FeedEntry key={entry.id} entry={entry} fresh={entry.id > data.oldest} />
        ))}
      </ol>
    </Panel>
  )
}

function FeedEntry({ entry, fresh }: { entry: HistoryEntry; fresh: boolean }) {
  const { say, now, language } = useUi()
  const of = entry.after ?? entry.before
  const changes = useMemo(() => changesOf(entry), [entry])
  if (!of) return null
  const nics = nicRange(changes.map(({ nic }) => nic))
  const done = changes.length === 1 && changes[0]?.look === 'ok' ? tookOf(entry) : undefined
  return (
    <li class={fresh ? 'new' : ''}>
      <Glyph look={entryLook(entry)} />
      <div>
        <p>
          <a href={linkToNode(of)}>
            <b class="strong">
              {of.nodeName}
              {nics && ` ${nics}`}
            </b>
          </a>{' '}
          {changes.length > 0 ? summaryOf() : say(`what.${entry.what}`)}
          {done !== undefined && ` · ${duration(done, say)}`}
        </p>
        <p class="ds">{entry.why}</p>
      </div>
      <time datetime={entry.at} title={exact(entry.at, language)}>
        {age(entry.at, now, say)}
      </time>
    </li>
  )

  function summaryOf(): string {
    const op = changes.every(change => change.op === 'del') ? 'what.removed' : undefined
    return op ? say(op) : say(`look.${entryLook(entry)}`)
  }
}

/** Where just one NIC is on the node, how long it took. */
function tookOf({ after }: HistoryEntry): number | undefined {
  const [only, ...others] = after?.interfaces ?? []
  return only && others.length === 0 ? totalOf({ stages: only.stages ?? {} }) : undefined
}
