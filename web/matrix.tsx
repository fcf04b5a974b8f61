/**
 * Which of all nodes are not right? Nodes by NIC number, worst first; only the rows in sight are drawn.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { downloadCsv } from './api.ts'
import { age, count, shortId } from './format.ts'
import { windowOf } from './layout.ts'
import { MatrixCard } from './matrix-card.tsx'
import { MatrixFilters } from './matrix-filters.tsx'
import { MiniMap } from './minimap.tsx'
import { linkTo, linkToNode } from './route.ts'
import { subnetKey } from './subnet.ts'
import { Blank, Glyph, Icon, Panel, Segmented, useUi } from './ui.tsx'
import {
  byName,
  countsOf,
  type Look,
  looks,
  type Nic,
  type Node,
  needsPerson,
  newestFirst,
  nodeHas,
  slots,
  worstFirst,
} from './view.ts'

const orders = { worst: worstFirst, name: byName, changed: newestFirst } as const
type Order = keyof typeof orders
const heights = { roomy: 37, standard: 25, tight: 17 } as const
type Density = keyof typeof heights

/** Column -1 is the name of the node. */
interface Place {
  row: number
  slot: number
}

export interface Picked {
  node: Node
  nic: Nic
  box: DOMRect
}

export function Matrix() {
  const { say, data, route, language, now } = useUi()
  const { provider, look, subnet, q = '', order: asked } = route.query
  const order: Order = asked === 'name' || asked === 'changed' ? asked : 'worst'
  const [density, setDensity] = useState<Density>('standard')
  const [picked, setPicked] = useState<Picked>()

  const among = useMemo(
    () =>
      data.nodes
        .filter(
          node =>
            (!provider || node.providerId === provider) &&
            (!subnet || node.nics.some(nic => subnetKey(nic) === subnet)),
        )
        .filter(node => q === '' || nodeHas(node, q)),
    [data.nodes, provider, subnet, q],
  )
  const nodes = useMemo(() => {
    const chosen = looks.find(each => each === look)
    return among.filter(node => !chosen || node.nics.some(nic => nic.look === chosen)).sort(orders[order])
  }, [among, look, order])
  const counts = useMemo(() => countsOf(among), [among])
  const ask = (change: Record<string, string | undefined>) => {
    location.replace(linkTo('matrix', { ...route.query, ...change }))
  }

  const { box, scrolled, seen, rowHeight, moveTo } = useScrolling(nodes.length, heights[density])
  const { first, last } = windowOf(nodes.length, rowHeight, scrolled, seen)
  const [place, setPlace] = useState<Place>({ row: 0, slot: -1 })
  const focusing = useRef(false)
  useLayoutEffect(() => {
    if (!focusing.current) return
    focusing.current = false
    box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true })
  })
  const moved = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return setPicked(undefined)
    const next = stepFrom(event.key, place, nodes, Math.floor(seen / rowHeight) - 2)
    if (!next) return
    event.preventDefault()
    focusing.current = true
    setPlace(next)
    const top = next.row * rowHeight
    if (top < scrolled) moveTo(top)
    else if (top + 2 * rowHeight + 36 > scrolled + seen) moveTo(top - seen + 2 * rowHeight + 36)
  }
  const pick = (event: Event) => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('a[data-slot]') : null
    if (cell && event.type === 'focusin')
      setPlace({ row: Number(cell.dataset['row']), slot: Number(cell.dataset['slot']) })
    const node = nodes[Number(cell?.dataset['row'])]
    const nic = node?.nics.find(each => each.slot === Number(cell?.dataset['slot']))
    setPicked(cell && node && nic ? { node, nic, box: cell.getBoundingClientRect() } : undefined)
  }
  const moveToRow = (row: number) => moveTo(row * rowHeight)
  const common = useMemo(() => commonStart(nodes), [nodes])

  return (
    <>
      <div class="head">
        <h1>{say('screen.matrix')}</h1>
        <span class="sub">
          {provider && `${shortId(provider, 18)} · `}
          {say('many.nodes', { n: count(nodes.length, language) })} ·{' '}
          {say('many.nics', { n: count(counts.nics, language) })}
        </span>
        <div class="right">
          <Segmented<Density>
            label={say('matrix.density')}
            value={density}
            choices={(['roomy', 'standard', 'tight'] as const).map(value => ({ value, label: say(`matrix.${value}`) }))}
            onChoose={setDensity}
          />
          <button type="button" class="btn" onClick={() => void downloadCsv(provider)}>
            <Icon name="csv" size={14} />
            {say('app.csv')}
          </button>
        </div>
      </div>
      <MatrixFilters counts={counts} ask={ask} />
      <Panel class="fill">
        {nodes.length === 0 ? (
          <Blank
            kind="search"
            title={say('matrix.none')}
            text={say('matrix.noneText', { nodes: say('many.nodes', { n: data.nodes.length }) })}
          >
            <a class="btn" href={linkTo('matrix')}>
              {say('matrix.clear')}
            </a>
          </Blank>
        ) : (
          <div class="mx">
            {/* The scroll box takes wheel and touch; the keys work on the cells in it. */}
            <div
              class={`mxbox d-${density}`}
              ref={box}
              onPointerOver={pick}
              onPointerLeave={() => setPicked(undefined)}
              onFocusIn={pick}
            >
              <table class="mxt" aria-rowcount={nodes.length + 1} onKeyDown={moved}>
                <caption class="sr">{say('matrix.caption')}</caption>
                <thead>
                  <tr>
                    <Sorter order="name" now={order} ask={ask} class="c-node" text={say('matrix.node')} />
                    {Array.from({ length: slots }, (_, slot) => (
                      <th key={slot} class="c" scope="col">
                        {say('matrix.nic')} <span>{slot}</span>
                      </th>
                    ))}
                    <Sorter order="worst" now={order} ask={ask} class="num c-sum" text={say('matrix.worst')} />
                    <Sorter order="changed" now={order} ask={ask} class="num c-chg" text={say('matrix.changed')} />
                  </tr>
                </thead>
                <tbody>
                  <Space height={first * rowHeight} />
                  {nodes.slice(first, last).map((node, index) => (
                    <Row
                      key={node.key}
                      node={node}
                      row={first + index}
                      common={common}
                      focus={place.row === first + index ? place.slot : undefined}
                      changed={age(node.updatedAt, now, say)}
                    />
                  ))}
                  <Space height={(nodes.length - last) * rowHeight} />
                </tbody>
              </table>
            </div>
            <MiniMap nodes={nodes} from={scrolled / rowHeight} rows={seen / rowHeight} moveTo={moveToRow} />
          </div>
        )}
      </Panel>
      {picked && <MatrixCard picked={picked} />}
    </>
  )
}

/** The box that scrolls, where it stands, and how many rows it shows. */
function useScrolling(rows: number, rowHeight: number) {
  const box = useRef<HTMLDivElement>(null)
  const [state, setState] = useState({ scrolled: 0, seen: 900 })
  const some = rows > 0
  useLayoutEffect(() => {
    const element = some ? box.current : null
    if (!element) return
    const look = () => setState({ scrolled: element.scrollTop, seen: element.clientHeight })
    look()
    element.addEventListener('scroll', look, { passive: true })
    const sized = new ResizeObserver(look)
    sized.observe(element)
    return () => {
      element.removeEventListener('scroll', look)
      sized.disconnect()
    }
  }, [some])
  const moveTo = (top: number) => box.current?.scrollTo({ top })
  return { box, ...state, rowHeight, moveTo }
}

function Space({ height }: { height: number }) {
  if (height <= 0) return null
  return (
    <tr class="space">
      <td colSpan={slots + 3} style={{ height: `${height}px` }} />
    </tr>
  )
}

interface SorterProps {
  order: Order
  now: Order
  class: string
  text: string
  ask: (change: Record<string, string>) => void
}

function Sorter({ order, now, class: kind, text, ask }: SorterProps) {
  return (
    <th
      class={kind}
      scope="col"
      aria-sort={order === now ? (order === 'changed' ? 'descending' : 'ascending') : undefined}
    >
      <button type="button" onClick={() => ask({ order: order === 'worst' ? '' : order })}>
        {text}
        {order === now && <Icon name="sort" size={12} />}
      </button>
    </th>
  )
}

interface RowProps {
  node: Node
  row: number
  common: string
  focus: number | undefined
  changed: string
}

const cellTone: Partial<Record<Look, string>> = { bad: 'bad-c', drift: 'warn-c', held: 'warn-c' }

function Row({ node, row, common, focus, changed }: RowProps) {
  const { say } = useUi()
  // The same element again is not looked into again: a row that stays costs nothing while others come and go.
  return useMemo(() => {
    const done = node.nics.filter(({ look }) => look === 'ok').length
    const flag = node.worst === 'bad' ? 'flag' : needsPerson(node.worst) ? 'flagw' : ''
    return (
      <tr class={flag} aria-rowindex={row + 2}>
        <td>
          <a
            class="mono"
            href={linkToNode(node)}
            data-row={row}
            data-slot={-1}
            tabIndex={focus === -1 ? 0 : -1}
            title={node.nodeName}
          >
            {node.nodeName}
          </a>
        </td>
        {Array.from({ length: slots }, (_, slot) => {
          const nic = node.nics.find(each => each.slot === slot)
          if (!nic) return <td key={slot} class="c e" />
          return (
            <td key={slot} class={`c ${cellTone[nic.look] ?? ''}`}>
              <a
                href={linkToNode(node, nic.name)}
                data-row={row}
                data-slot={slot}
                tabIndex={focus === slot ? 0 : -1}
                aria-label={`${node.nodeName} ${nic.name}: ${say(`look.${nic.look}`)}${nic.reason && nic.look !== 'ok' ? `, ${nic.reason}` : ''}`}
              >
                <Glyph look={nic.look} />
                <span class="oc">{withoutStart(nic.address, common)}</span>
              </a>
            </td>
          )
        })}
        <td class="num">
          <span class={done < node.nics.length ? 'strong' : 'dim'}>
            {done} / {node.nics.length}
          </span>
        </td>
        <td class="num dim">{changed}</td>
      </tr>
    )
  }, [node, row, common, focus, changed, say])
}

/** What all addresses begin with says nothing: it is left out of the cells. */
function commonStart(nodes: readonly Node[]): string {
  const [first = '', ...others] = nodes.flatMap(({ nics }) =>
    nics.flatMap(({ address }) => (/^\d+\./.exec(address) ?? []).slice(0, 1)),
  )
  return others.every(each => each === first) ? first : ''
}

function withoutStart(address: string, common: string): string {
  const plain = address.split('/')[0] ?? ''
  return common && plain.startsWith(common) ? plain.slice(common.length) : plain
}

function stepFrom(key: string, { row, slot }: Place, nodes: readonly Node[], page: number): Place | undefined {
  const columns = (at: number) => [-1, ...(nodes[at]?.nics ?? []).map(nic => nic.slot)]
  const clamp = (at: number) => Math.max(0, Math.min(nodes.length - 1, at))
  const inRow = (at: number): Place => ({ row: at, slot: columns(at).findLast(each => each <= slot) ?? -1 })
  switch (key) {
    case 'ArrowDown':
      return inRow(clamp(row + 1))
    case 'ArrowUp':
      return inRow(clamp(row - 1))
    case 'PageDown':
      return inRow(clamp(row + page))
    case 'PageUp':
      return inRow(clamp(row - page))
    case 'ArrowRight':
      return { row, slot: columns(row).find(each => each > slot) ?? slot }
    case 'ArrowLeft':
      return { row, slot: columns(row).findLast(each => each < slot) ?? slot }
    case 'Home':
      return { row: 0, slot: -1 }
    case 'End':
      return { row: nodes.length - 1, slot: -1 }
    default:
      return undefined
  }
}
