/**
 * Every fault that the sandbox can be told to have: the word, which part has it, what it does and how it ends. Pure data; the
 * switches behind the words are beside this file.
 */
import { type Manner, type Service, services } from '../cloud/state.ts'

export type AnswerFault = `${Manner}-${Service}`
export type CloudFault = 'revoked-tokens' | 'short-tokens' | 'lost-role' | 'small-pages' | 'wrong-clock'
export type BusFault = 'lost-notices' | 'duplicated-notices' | 'reordered-notices' | 'lost-broker' | 'restarted-broker'
export type ClusterFault =
  | 'away-management-api'
  | 'away-biz-api'
  | 'conflicts'
  | 'compacted-watches'
  | `${'killed' | 'frozen' | 'away'}-${'operator' | 'viola' | 'controller'}`
export type NodeFault =
  | 'killed-agent'
  | 'full-disk'
  | 'read-only-etc'
  | 'late-nics'
  | 'unplugged-nics'
  | 'no-carrier'
  | 'duplicate-address'
  | 'cut-off-node'
export type Word = AnswerFault | CloudFault | BusFault | ClusterFault | NodeFault

export interface Fault {
  part: string
  does: string
  ends: string
  /** An act, not a state: it is over when it is done. */
  once?: true
  /** It is of the nodes: one of them can be named, otherwise all have it. */
  ofNodes?: true
}

const names: Record<Service, string> = {
  keystone: 'Keystone',
  neutron: 'Neutron',
  nova: 'Nova',
  contrabass: 'Contrabass',
}
const asBefore = 'it answers as before'

const answers: Record<Manner, string> = {
  failing: 'answers 500',
  unauthorized: 'answers 401, whatever the token',
  throttled: 'answers 429 with Retry-After: 1',
  garbled: 'answers with the status of success and a page that is no JSON',
  truncated: 'breaks the connection in the middle of each answer',
  empty: 'answers with the status of success and no body',
  slow: 'takes 2 seconds for each answer',
  silent: 'takes requests and never answers',
}

const answerFaults = Object.fromEntries(
  services.flatMap(service =>
    (Object.keys(answers) as Manner[]).map(manner => [
      `${manner}-${service}`,
      { part: names[service], does: answers[manner], ends: asBefore },
    ]),
  ),
) as Record<AnswerFault, Fault>

const cloudFaults: Record<CloudFault, Fault> = {
  'revoked-tokens': {
    part: 'Keystone',
    does: 'forgets all tokens that it issued',
    ends: 'at once: whoever logs in again has a new one',
    once: true,
  },
  'short-tokens': {
    part: 'Keystone',
    does: 'issues tokens that live 2 seconds, and forgets the older ones',
    ends: 'new tokens live an hour',
  },
  'lost-role': {
    part: 'Keystone',
    does: 'no longer counts the role of the user: Neutron answers 200 and an empty list, Nova 403',
    ends: 'the role counts again',
  },
  'small-pages': {
    part: 'Neutron',
    does: 'gives 2 entries a page, and so does Nova',
    ends: 'pages are as long as before',
  },
  'wrong-clock': {
    part: 'the cloud',
    does: 'has a clock that is an hour ahead',
    ends: 'the clock is right again: what was issued meanwhile is an hour in the future',
  },
}

const needsBus = 'the bus of a sandbox that has one (--rabbitmq local)'

const busFaults: Record<BusFault, Fault> = {
  'lost-notices': { part: needsBus, does: 'loses every notification', ends: 'those to come arrive' },
  'duplicated-notices': { part: needsBus, does: 'delivers each notification twice', ends: 'each comes once' },
  'reordered-notices': {
    part: needsBus,
    does: 'holds notifications back for a moment and delivers the last one first',
    ends: 'what was held back arrives',
  },
  'lost-broker': { part: needsBus, does: 'is killed and stays away', ends: 'the broker starts again' },
  'restarted-broker': { part: needsBus, does: 'is killed and starts again', ends: 'when it is up', once: true },
}

const partNames = { operator: 'the operator', viola: 'Viola', controller: 'the controller' }
const parts = Object.keys(partNames) as (keyof typeof partNames)[]

const clusterFaults = {
  'away-management-api': {
    part: 'the API server of the management cluster',
    does: 'breaks every connection',
    ends: 'it serves again',
  },
  'away-biz-api': {
    part: 'the API server of the Biz cluster',
    does: 'breaks every connection',
    ends: 'it serves again',
  },
  conflicts: {
    part: 'both API servers',
    does: 'answer every second change of an object with 409',
    ends: 'changes are taken',
  },
  'compacted-watches': {
    part: 'both API servers',
    does: 'end all watches and forget what happened before: who resumes is told 410',
    ends: 'at once: whoever lists again goes on',
    once: true,
  },
  ...Object.fromEntries(
    parts.flatMap((part): [string, Fault][] => [
      [
        `killed-${part}`,
        { part: partNames[part], does: 'is killed (SIGKILL)', ends: 'it is started again at once', once: true },
      ],
      [
        `frozen-${part}`,
        { part: partNames[part], does: 'stands still (SIGSTOP): connections stay open', ends: 'it goes on (SIGCONT)' },
      ],
      [`away-${part}`, { part: partNames[part], does: 'is killed and not started again', ends: 'it is started again' }],
    ]),
  ),
} as Record<ClusterFault, Fault>

const nodeFaults: Record<NodeFault, Fault> = {
  'killed-agent': {
    part: 'the agent',
    does: 'is killed (SIGKILL) within a quarter of a second of each start, a little later each time',
    ends: 'the kubelet starts it again, and it is left alone',
    ofNodes: true,
  },
  'full-disk': {
    part: 'nodes',
    does: 'have no room on the disk: nothing can be made, written or removed in /etc and /var/lib',
    ends: 'there is room again',
    ofNodes: true,
  },
  'read-only-etc': { part: 'nodes', does: 'have a read-only /etc', ends: 'it can be written again', ofNodes: true },
  'late-nics': {
    part: 'nodes',
    does: 'get a hot-plugged NIC only after 20 seconds',
    ends: 'NICs to come take as long as before',
  },
  'unplugged-nics': {
    part: 'nodes',
    does: 'lose a new NIC at the moment when the agent sets it up; the port stays attached',
    ends: 'the NICs are back, bare',
    ofNodes: true,
  },
  'no-carrier': {
    part: 'nodes',
    does: 'have no carrier on their multinic NICs, new ones included',
    ends: 'the cables are in again',
    ofNodes: true,
  },
  'duplicate-address': {
    part: 'nodes',
    does: 'share the addresses of their multinic NICs, new ones included, with another machine on the wire',
    ends: 'the other machine is gone',
    ofNodes: true,
  },
  'cut-off-node': {
    part: 'nodes',
    does: 'have no carrier on their primary NIC',
    ends: 'the cable is in again',
    ofNodes: true,
  },
}

export const catalogue: Record<Word, Fault> = {
  ...answerFaults,
  ...cloudFaults,
  ...busFaults,
  ...clusterFaults,
  ...nodeFaults,
}

export const words = Object.keys(catalogue) as Word[]

export function isWord(text: string): text is Word {
  return Object.hasOwn(catalogue, text)
}

/** One line a word, for people. */
export function catalogueText(): string {
  const longest = Math.max(...words.map(word => word.length))
  return words
    .map(word => {
      const { part, does, ends, ofNodes } = catalogue[word]
      return `${word.padEnd(longest)}  ${part} ${does}; ends: ${ends}${ofNodes ? ' [--node]' : ''}`
    })
    .join('\n')
}
