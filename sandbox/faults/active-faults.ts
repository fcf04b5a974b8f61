/**
 * Switches faults on and off by their words, and knows which are on. A fault with a time ends by itself.
 */
import { messageOf } from '../../src/runtime/errors.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { catalogue, isWord, type Word, words } from './catalogue.ts'

/** Whom a fault of the nodes is for. */
export interface Target {
  /** All nodes when absent. */
  node?: string | undefined
}

/** Begins a fault. What it gives ends it. */
export type Switch = (target: Target) => Promise<() => Promise<void>>
export type Switches = Record<Word, Switch>

export interface FaultInput extends Target {
  word: string
  forMs?: number | undefined
}

export interface ActiveFault {
  word: Word
  does: string
  node?: string
  since: string
  until?: string
}

export interface FaultSwitchboard {
  /** Resolves when the fault is there; of one that happens once, when it has happened. */
  on(input: FaultInput): Promise<void>
  /** One of them, or all. Resolves when it is over. */
  off(word?: string): Promise<void>
  active(): ActiveFault[]
}

interface Entry extends ActiveFault {
  end: () => Promise<void>
  timer?: NodeJS.Timeout
}

export function createSwitchboard(switches: Switches, nodes: () => Iterable<string>, log: Log): FaultSwitchboard {
  const entries = new Map<Word, Entry>()
  let work: Promise<unknown> = Promise.resolve()

  /** One at a time: two switches at the same mount or process would meet. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = work.then(task)
    work = done.catch(() => {})
    return done
  }

  async function begin(word: Word, { node, forMs }: FaultInput): Promise<void> {
    await finish(word)
    const { does, once } = catalogue[word]
    const end = await switches[word]({ node })
    log.info('a fault begins', { word, node })
    if (once) return end()
    const now = Date.now()
    entries.set(word, {
      word,
      does: `${catalogue[word].part} ${does}`,
      ...(node && { node }),
      since: new Date(now).toISOString(),
      ...(forMs && { until: new Date(now + forMs).toISOString(), timer: later(word, forMs) }),
      end,
    })
  }

  function later(word: Word, ms: number): NodeJS.Timeout {
    const over = () => inTurn(() => finish(word)).catch(error => log.error('a fault does not end', { word, error }))
    return setTimeout(over, ms).unref()
  }

  async function finish(word: Word): Promise<void> {
    const entry = entries.get(word)
    if (!entry) return
    clearTimeout(entry.timer)
    await entry.end()
    entries.delete(word)
    log.info('a fault ends', { word })
  }

  return {
    async on(input) {
      const word = known(input.word)
      const { once, ofNodes } = catalogue[word]
      if (once && input.forMs) throw new Error(`${word} happens once; it has no duration`)
      if (input.node !== undefined) {
        if (!ofNodes) throw new Error(`${word} is not of a node; leave the node out`)
        const there = [...nodes()]
        if (!there.includes(input.node))
          throw new Error(`there is no node ${input.node}; there are ${there.join(', ')}`)
      }
      await inTurn(() => begin(word, input))
    },
    off: word =>
      inTurn(async () => {
        if (word !== undefined) return finish(known(word))
        const failures: string[] = []
        for (const each of [...entries.keys()].reverse())
          await finish(each).catch(error => failures.push(`${each}: ${messageOf(error)}`))
        if (failures.length > 0) throw new Error(`not every fault ended: ${failures.join('; ')}`)
      }),
    active: () => [...entries.values()].map(({ end: _, timer: __, ...shown }) => shown),
  }
}

function known(word: string): Word {
  if (isWord(word)) return word
  const near = words.filter(each => word.split('-').some(piece => piece !== '' && each.split('-').includes(piece)))
  const hint = near.length > 0 ? `did you mean ${near.slice(0, 8).join(', ')}?` : '"multinic sandbox fault" lists all'
  throw new Error(`there is no fault "${word}"; ${hint}`)
}
