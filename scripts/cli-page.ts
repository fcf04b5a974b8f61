/**
 * The reference page of the CLI, from the definitions of its commands.
 */
import type { Command } from 'commander'
import { userCommands } from '../src/cli/commands.ts'
import { terminalIo } from '../src/cli/terminal.ts'
import { type Language, pageName, referencePages, table } from './reference.ts'

interface Texts {
  title: string
  text: string
  install: string
  kubeconfig: string
  address: string
  columns: { commands: string[]; options: string[]; formats: string[]; codes: string[] }
  reasons: (page: string) => string
  headings: Record<
    'commands' | 'options' | 'selectors' | 'formats' | 'codes' | 'age' | 'paths' | 'examples' | 'completion',
    string
  >
  every: string
  formats: Record<'wide' | 'json' | 'csv', string>
  terminal: string
  codes: Record<0 | 1 | 2, string>
  scripts: string
  /** How old an observation is. */
  age: (controllerPage: string) => string
  /** Labels of Nodes, and the page about access. */
  selectors: (accessPage: string) => string
  /** Rules and tables of packets, and the page about routing. */
  paths: (routingPage: string) => string
  comments: Record<'current' | 'live' | 'why' | 'path' | 'plan' | 'history' | 'find' | 'bash' | 'zsh' | 'fish', string>
  nodes: string
}

const texts: Record<Language, Texts> = {
  en: {
    title: 'CLI',
    text: '`multinic` shows the state of nodes and ports, the reason, the history and the remedy. `kubectl multinic …` runs the same program.',
    install:
      'The CLI is one file for Node 20 and later: `multinic-cli-VERSION.tgz` of a release (`make release`), or `dist/multinic` of `make build`. In a checkout, add `bin/` to your `PATH`.',
    kubeconfig:
      'You need a kubeconfig and nothing else. The commands find the inventory of the cluster and reach it through the API server, like `kubectl port-forward`. KUBECONFIG may be a list of files, and files merge as in kubectl. `migrate`, `retry`, `check --now` and `--selector` use the cluster of the nodes, the other commands the management cluster.',
    address: 'The commands also take the URL of an inventory, and then need no cluster:',
    columns: {
      commands: ['command', 'description'],
      options: ['option', 'commands', 'description'],
      formats: ['format', 'commands'],
      codes: ['code', 'meaning'],
    },
    reasons: page => `Meanings and remedies are those of the [reasons](${page}).`,
    headings: {
      commands: 'Commands',
      options: 'Options',
      selectors: 'Label selectors',
      formats: 'Output formats',
      codes: 'Exit codes',
      age: 'Age of an observation',
      paths: 'Path of packets',
      examples: 'Examples',
      completion: 'Shell completion',
    },
    every: 'all',
    formats: {
      json: 'complete data',
      wide: 'also IDs, links and times',
      csv: 'one row per NIC, change, match or verdict',
    },
    terminal:
      'On a terminal, tables fit its width (or `COLUMNS`): texts wrap in their column, then some columns are left out. A pipe and `-o wide` get all of them. Colours appear on a terminal only, and not with `NO_COLOR`. With `LANG=ko_KR.UTF-8` or `--lang ko`, help, output and remedies are in Korean; names of states, reasons and fields, and error messages, stay English. For an inventory with a private CA, name the file of the CA with `--ca-file` or `MULTINIC_CA_FILE`. Through the API server the commands read the CA from the Secret of the inventory, if you may read it. The CLI sends the token only to the URLs that you set, and follows no redirect.',
    codes: {
      0: 'yes, or the requested output',
      1: 'no: `check` found a deviation or an observation that is too old, nothing matches the name, the OpenstackConfig is invalid',
      2: 'no answer: wrong use, wrong URL or token, nothing responds. The message says what to do',
    },
    scripts:
      'So `multinic check` fits into a pipeline, and `multinic find 10.10.0.7 -o json` into a script. Data goes to standard output, notes go to standard error.',
    age: page =>
      `\`check\`, \`why\`, \`status\` and \`find\` compare the requested NICs with what an agent observed on the node, and show how old the observation is. \`check\` and \`why\` also name selected ports that were not delivered. An observation that is older than twice the interval of the checks for drift vouches for nothing: the commands say \`not verified since\` its time, and \`check\` exits with 1. The interval is \`DRIFT_INTERVAL\`, or longer in a large cluster ([controller](${page})). While the checks are off, it counts as one hour. \`multinic check --now NODE\` checks a node at once. \`why\` marks a stage whose reported time was impossible with \`(clock differs)\`.`,
    selectors: page =>
      `\`status\`, \`check\` and \`retry\` take a selector of Node labels, with the syntax of kubectl: \`zone=a\`, \`zone!=a\`, \`role in (db,web)\`, \`role notin (db)\`, \`spare\`, \`!spare\`, and several of them with commas. The Nodes are those of the cluster of \`--kubeconfig\` and \`--context\`. If the inventory serves other clusters, name the cluster of the nodes, and the inventory with \`--inventory\`. You need the right to list Nodes ([access](${page})). A selector that no node matches is an error. \`retry\` takes one node after the other, and stops at the first failure.`,
    paths: page =>
      `\`multinic why NODE multinic1 --to ADDRESS\` explains which rule, table and NIC packets to an IPv4 or IPv6 address use ([routing](${page})): from each address of the NIC, without a source address and from Pods, replies to connections by the NIC, and from the node's own address. Each row names the rules and routes of other programs that would come first. It also shows what the last run or check of the agent reported about packets. \`check\` and \`doctor\` print the command when an agent reported such packets. The CLI knows the NICs of the node and assumes default settings of the agent. For the node's other routes, run the commands at the end of the output on the node.`,
    comments: {
      current: 'the cluster of the current context',
      live: 'another one, with live updates',
      why: 'why is this port not a NIC?',
      path: 'which NIC do packets use?',
      plan: 'what would this do?',
      history: 'what did it have yesterday?',
      find: 'who had this address then?',
      bash: 'in ~/.bashrc',
      zsh: 'in ~/.zshrc, after compinit',
      fish: 'in ~/.config/fish/config.fish',
    },
    nodes:
      'If the inventory can be reached, node names are completed too. For `kubectl multinic`, kubectl 1.26 and later runs `kubectl_complete-multinic`, which is next to the program in `bin/`.',
  },
  ko: {
    title: 'CLI',
    text: '`multinic`은 노드와 포트의 상태, 사유, 이력, 조치 방법을 보여 줍니다. `kubectl multinic …`도 같은 프로그램입니다.',
    install:
      'CLI는 Node 20 이상에서 실행되는 파일 하나입니다. 릴리스의 `multinic-cli-VERSION.tgz`(`make release`) 또는 `make build`의 `dist/multinic`을 사용하십시오. 체크아웃에서는 `bin/`을 `PATH`에 추가하십시오.',
    kubeconfig:
      'kubeconfig만 있으면 됩니다. 명령은 클러스터의 인벤토리를 찾아 `kubectl port-forward`처럼 API 서버를 통해 연결합니다. KUBECONFIG에는 여러 파일을 지정할 수 있으며 kubectl과 같은 방식으로 병합합니다. `migrate`, `retry`, `check --now`, `--selector`는 노드가 있는 클러스터를, 나머지 명령은 관리 클러스터를 사용합니다.',
    address: '인벤토리의 URL을 직접 지정할 수도 있습니다. 이때는 클러스터가 필요하지 않습니다.',
    columns: {
      commands: ['명령', '설명'],
      options: ['옵션', '명령', '설명'],
      formats: ['형식', '명령'],
      codes: ['코드', '의미'],
    },
    reasons: page => `의미와 조치 방법은 [사유](${page}) 페이지와 같습니다.`,
    headings: {
      commands: '명령',
      options: '옵션',
      selectors: '레이블 셀렉터',
      formats: '출력 형식',
      codes: '종료 코드',
      age: '관측 시점',
      paths: '패킷의 경로',
      examples: '예제',
      completion: '셸 자동 완성',
    },
    every: '모두',
    formats: {
      json: '전체 데이터',
      wide: 'ID, 링크, 시각 포함',
      csv: 'NIC, 변경, 검색 결과, 판정마다 한 줄',
    },
    terminal:
      '터미널에서는 표를 터미널 너비(또는 `COLUMNS`)에 맞춥니다. 먼저 열 안에서 줄을 바꾸고, 그래도 넘치면 일부 열을 생략합니다. 파이프와 `-o wide`에는 모든 열을 출력합니다. 색상은 터미널에서만 표시하며 `NO_COLOR`가 있으면 표시하지 않습니다. `LANG=ko_KR.UTF-8` 또는 `--lang ko`를 지정하면 도움말, 출력, 조치 방법이 한국어로 표시됩니다. 상태, 사유, 필드 이름과 오류 메시지는 영어 그대로입니다. 인벤토리가 사설 CA를 쓰면 `--ca-file` 또는 `MULTINIC_CA_FILE`로 CA 파일을 지정하십시오. API 서버를 거쳐 접속할 때는 읽을 권한이 있으면 인벤토리의 Secret에서 CA를 읽습니다. 토큰은 지정한 URL에만 보내며 리다이렉트를 따르지 않습니다.',
    codes: {
      0: '예, 또는 요청한 출력',
      1: '아니요: `check`가 불일치나 너무 오래된 관측을 찾음, 일치하는 이름이 없음, OpenstackConfig가 잘못됨',
      2: '응답 없음: 잘못된 사용, 잘못된 URL이나 토큰, 무응답. 메시지에 조치 방법이 있습니다',
    },
    scripts:
      '따라서 `multinic check`는 파이프라인에, `multinic find 10.10.0.7 -o json`은 스크립트에 쓸 수 있습니다. 데이터는 표준 출력으로, 안내는 표준 오류로 출력합니다.',
    age: page =>
      `\`check\`, \`why\`, \`status\`, \`find\`는 요청한 NIC와 agent가 노드에서 관측한 값을 비교하고, 관측한 지 얼마나 지났는지 표시합니다. \`check\`와 \`why\`는 선택되었지만 전달되지 않은 포트도 표시합니다. 드리프트 점검 주기의 두 배보다 오래된 관측은 아무것도 보증하지 않습니다. 이때 명령은 마지막 관측 시각과 함께 \`이후 점검되지 않음\`이라고 표시하고, \`check\`는 1로 종료합니다. 주기는 \`DRIFT_INTERVAL\`이며 큰 클러스터에서는 더 깁니다([controller](${page})). 점검을 끄면 한 시간으로 계산합니다. \`multinic check --now NODE\`는 노드를 바로 점검합니다. \`why\`는 보고된 시각이 불가능했던 단계를 \`(시계 차이)\`로 표시합니다.`,
    selectors: page =>
      `\`status\`, \`check\`, \`retry\`에는 Node 레이블 셀렉터를 지정할 수 있습니다. 문법은 kubectl과 같습니다: \`zone=a\`, \`zone!=a\`, \`role in (db,web)\`, \`role notin (db)\`, \`spare\`, \`!spare\`. 쉼표로 여러 개를 이어 쓸 수 있습니다. Node는 \`--kubeconfig\`와 \`--context\`가 가리키는 클러스터에서 찾습니다. 인벤토리가 다른 클러스터를 관리한다면 노드가 있는 클러스터를 지정하고 인벤토리는 \`--inventory\`로 지정하십시오. Node를 나열할 권한이 필요합니다([접근 권한](${page})). 일치하는 노드가 없으면 오류입니다. \`retry\`는 노드를 하나씩 처리하고 처음 실패한 노드에서 멈춥니다.`,
    paths: page =>
      `\`multinic why NODE multinic1 --to ADDRESS\`는 IPv4 또는 IPv6 주소로 가는 패킷이 어떤 규칙, 테이블, NIC를 사용하는지 설명합니다([라우팅](${page})). NIC의 각 주소에서 나가는 패킷, 출발지가 없는 패킷과 Pod의 패킷, NIC로 들어온 연결의 응답, 노드 주소에서 나가는 패킷을 구분합니다. 각 행에는 우선하는 다른 프로그램의 규칙과 라우트를 표시합니다. agent가 마지막 실행이나 점검에서 보고한 내용도 보여 줍니다. agent가 그런 패킷을 보고하면 \`check\`와 \`doctor\`가 이 명령을 알려 줍니다. CLI는 노드의 NIC만 알고 agent의 기본 설정을 가정합니다. 노드의 다른 라우트는 출력 끝의 명령을 노드에서 실행하여 확인하십시오.`,
    comments: {
      current: '현재 context의 클러스터',
      live: '다른 클러스터를 실시간으로',
      why: '이 포트가 왜 NIC가 아닌가?',
      path: '패킷이 어느 NIC를 사용하는가?',
      plan: '적용하면 무엇이 바뀌는가?',
      history: '어제 무엇을 가지고 있었는가?',
      find: '그때 이 주소를 누가 가지고 있었는가?',
      bash: '~/.bashrc에 추가',
      zsh: '~/.zshrc의 compinit 뒤에 추가',
      fish: '~/.config/fish/config.fish에 추가',
    },
    nodes:
      '인벤토리에 연결할 수 있으면 노드 이름도 완성합니다. `kubectl multinic`의 경우 kubectl 1.26 이상이 `bin/`에 함께 있는 `kubectl_complete-multinic`을 실행합니다.',
  },
}

export const cliPages = () => referencePages('cli', 'src/cli', texts, bodyOf)

function bodyOf(language: Language, text: Texts): string {
  const { columns, headings, comments } = text
  const commands = userCommands(terminalIo({}, language), () => {}).flatMap(command =>
    command.commands.length > 0 ? command.commands : [command],
  )
  return `${text.install}

${text.kubeconfig}

\`\`\`sh elsewhere
multinic status                           # ${comments.current}
multinic status --context prod --watch    # ${comments.live}
\`\`\`

${text.address}

\`\`\`sh sandbox
export MULTINIC_INVENTORY_URL=http://127.0.0.1:18081
multinic status
\`\`\`

## ${headings.commands}

${table(columns.commands, commands.map(commandRow))}
${text.reasons(pageName('reasons', language))}

## ${headings.options}

${table(columns.options, optionRows(commands, text.every))}
## ${headings.selectors}

${text.selectors(`../guides/${pageName('access', language)}`)}

## ${headings.formats}

${table(columns.formats, formatRows(commands, text.formats))}
${text.terminal}

## ${headings.codes}

${table(
  columns.codes,
  Object.entries(text.codes).map(([code, meaning]) => [code, meaning]),
)}
${text.scripts}

## ${headings.age}

${text.age(`../guides/${pageName('controller', language)}`)}

## ${headings.paths}

${text.paths(`../guides/${pageName('routing', language)}`)}

## ${headings.examples}

\`\`\`console sandbox
$ multinic status
provider Sandbox  3 nodes, 3 Configured
└─ OpenstackConfig multinic-system/sandbox
   ├─ worker-1  Configured
   │  ├─ ● multinic0  Configured  10.10.0.10/24  storage  mtu 9000  fa:16:3e:95:34:f4  observed 12m ago
   │  └─ ● multinic1  Configured  10.20.0.10/24  backup   mtu 1450  fa:16:3e:94:47:35  observed 12m ago
   ├─ worker-2  Configured
   │  └─ ● multinic0  Configured  10.10.0.11/24  storage  mtu 9000  fa:16:3e:97:e3:0d  observed 3m ago
   └─ worker-3  Configured
      └─ ● multinic0  Configured  10.20.0.11/24  backup  mtu 1450  fa:16:3e:98:db:df  observed 3m ago
\`\`\`

\`\`\`console sandbox
$ multinic why "$PORT"                                  # ${comments.why}
$ multinic why worker-1 multinic1 --to 192.0.2.1        # ${comments.path}
$ multinic plan -f openstackconfig.yaml                 # ${comments.plan}
$ multinic history worker-1 --at 24h                    # ${comments.history}
$ multinic find 10.10.0.7 --at 2026-01-31T10:00:00Z     # ${comments.find}
KIND     VALUE      NODE      INTERFACE  SUBNET   STATUS      OBSERVED          PROVIDER
address  10.10.0.7  worker-1  multinic0  storage  Configured  observed 20s ago  Sandbox
$ multinic check -o csv > deviations.csv
\`\`\`

## ${headings.completion}

\`\`\`sh elsewhere
source <(multinic completion bash)     # ${comments.bash}
source <(multinic completion zsh)      # ${comments.zsh}
multinic completion fish | source      # ${comments.fish}
\`\`\`

${text.nodes}
`
}

/** `migrate plan`; other commands have one word. */
const nameOf = (command: Command) => [command.parent?.name(), command.name()].filter(Boolean).join(' ')

function commandRow(command: Command): string[] {
  const args = command.registeredArguments.map(one => (one.required ? `<${one.name()}>` : `[${one.name()}]`))
  return [`\`multinic ${[nameOf(command), ...args].join(' ')}\``, escaped(command.description())]
}

/** One row per option and description, with all commands that share them. */
function optionRows(commands: readonly Command[], every: string): string[][] {
  const rows = new Map<string, { flags: string; description: string; of: string[] }>()
  for (const command of commands)
    for (const { flags, description } of command.options) {
      const key = `${flags} ${description}`
      const row = rows.get(key) ?? { flags, description, of: [] }
      rows.set(key, row)
      row.of.push(nameOf(command))
    }
  return [...rows.values()].map(({ flags, description, of }) => [
    `\`${flags}\``,
    of.length === commands.length ? every : of.join(', '),
    escaped(description),
  ])
}

function formatRows(commands: readonly Command[], descriptions: Texts['formats']): string[][] {
  const of = (format: string) =>
    commands
      .filter(({ options }) =>
        options.some(({ long, argChoices }) => long === '--output' && argChoices?.includes(format)),
      )
      .map(nameOf)
      .join(', ')
  return [
    [`\`json\`, \`yaml\`: ${descriptions.json}`, of('json')],
    [`\`wide\`: ${descriptions.wide}`, of('wide')],
    [`\`csv\`: ${descriptions.csv}`, of('csv')],
  ]
}

const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
