/** Attacks on HTTP APIs, the dashboard, databases, certificates and clocks. */
import type { AttackSection } from './section.ts'

const browser = 'test/attacks/browser.e2e.test.ts'
const expired = 'test/attacks/expired-certificates.test.ts'

export const apiAttacks: readonly AttackSection[] = [
  {
    title: { en: 'HTTP APIs and the dashboard', ko: 'HTTP API와 대시보드' },
    attacks: [
      {
        about: { en: 'Every route without a token', ko: '토큰 없이 모든 경로' },
        file: 'src/inventory/http.test.ts',
        test: 'every route of the API refuses a caller without a token',
      },
      {
        about: { en: 'Spellings of a path that lead past the check', ko: '검사를 피하는 경로 표기' },
        file: 'test/attacks/strangers.test.ts',
        test: 'no spelling of a path leads past the check, and no token in it counts',
      },
      {
        about: { en: 'A writer of one provider that writes for another', ko: '다른 제공자의 기록을 쓰는 작성자' },
        file: 'src/inventory/http.test.ts',
        test: 'a writer of one provider cannot write the records of another',
      },
      {
        about: { en: 'A flood of unknown tokens', ko: '모르는 토큰의 홍수' },
        file: 'src/server/reviews.test.ts',
        test: 'a flood of unknown tokens is refused, and known callers are served meanwhile',
      },
      {
        about: { en: 'Event streams whose clients read nothing', ko: '아무것도 읽지 않는 이벤트 스트림 클라이언트' },
        failed: {
          en: 'with 1,000 of them, 40 writes did not end in 90 s',
          ko: '1,000개일 때 쓰기 40개가 90초 안에 끝나지 않았습니다',
        },
        file: 'src/inventory/change-feed.test.ts',
        test: 'sixty listeners cost as many queries and serializations as one',
      },
      {
        about: { en: 'More event streams than a caller may have', ko: '호출자 한도를 넘는 이벤트 스트림' },
        failed: { en: 'there was no limit', ko: '한도가 없었습니다' },
        file: 'src/inventory/change-feed.test.ts',
        test: 'the twenty-first stream of one caller gets a 429',
      },
      {
        about: { en: 'A stream whose token is taken away', ko: '토큰을 잃은 스트림' },
        file: 'src/inventory/session.test.ts',
        test: 'a stream of events ends when its token is taken away',
      },
      {
        about: { en: 'A sign-in form of another site (CSRF)', ko: '다른 사이트의 로그인 양식(CSRF)' },
        file: 'test/attacks/strangers.test.ts',
        test: 'a form of another site signs nobody in',
      },
      {
        about: { en: 'A write with the cookie of a user (CSRF)', ko: '사용자의 쿠키로 쓰기(CSRF)' },
        file: 'src/inventory/session.test.ts',
        test: 'the cookie is for reading: a write needs the token itself',
      },
      {
        about: { en: 'Pages of other sites that call the API', ko: 'API를 호출하는 다른 사이트의 페이지' },
        file: 'src/inventory/http.test.ts',
        test: 'pages of other sites cannot call the API: no CORS headers and no preflight response',
      },
      {
        about: {
          en: '/docs in a frame, and JSON read as another type',
          ko: '프레임 속 /docs, 다른 유형으로 읽는 JSON',
        },
        failed: {
          en: '/docs could be framed, and answers had no `nosniff`',
          ko: '/docs를 프레임에 넣을 수 있었고 응답에 `nosniff`가 없었습니다',
        },
        file: 'src/server/security-headers.test.ts',
        test: 'every answer has nosniff and cannot be framed, and /docs may load nothing but its own style',
      },
      {
        about: {
          en: 'Names that are code, in a browser, on every screen of the dashboard',
          ko: '브라우저에서 대시보드의 모든 화면에 나오는, 코드로 된 이름',
        },
        failed: {
          en: 'none ran; a name in an address kept its invisible characters',
          ko: '실행된 것은 없었고, 주소 속 이름에는 보이지 않는 문자가 남았습니다',
        },
        file: browser,
        test: 'names that are code are text on every screen, in … … the content security policy',
      },
      {
        about: {
          en: 'Forms, images, frames and streams of another site or port, in the browser of a user',
          ko: '사용자의 브라우저에서 다른 사이트나 포트의 양식, 이미지, 프레임, 스트림',
        },
        failed: {
          en: 'nothing was readable, but the cookie counted in requests of another port, which could hold event streams',
          ko: '읽을 수 있는 것은 없었지만, 다른 포트의 요청에도 쿠키가 인정되어 이벤트 스트림을 점유할 수 있었습니다',
        },
        file: browser,
        test: 'a page of another port of … reads, changes and frames nothing with the cookie of the user',
      },
      {
        about: {
          en: 'The token of a sign-in link, searched for in the page',
          ko: '페이지에서 찾는 로그인 링크의 토큰',
        },
        failed: {
          en: 'it stayed in the address of an open page, and scripts could read it in the timing of the page',
          ko: '열려 있던 페이지의 주소에 남았고, 스크립트가 페이지의 타이밍에서 읽을 수 있었습니다',
        },
        file: browser,
        test: 'the token of a link leaves the address at once, on a new page and on an open one, and is no part of any URL',
      },
      {
        about: { en: 'Formulas in a CSV, also with full-width signs', ko: '전각 기호를 포함한 CSV의 수식' },
        failed: { en: '`＝1+1` stayed a formula', ko: '`＝1+1`이 수식으로 남았습니다' },
        file: 'src/inventory/csv.test.ts',
        test: 'CSV has one line per interface, quotes where needed, and no formula',
      },
      {
        about: { en: 'Hostile answers and requests to every component', ko: '모든 구성 요소에 악의적인 응답과 요청' },
        file: 'test/hostile/hostile.e2e.test.ts',
        test: 'operator 3, 4: no hostile answer or request ends a process',
      },
      {
        about: { en: 'Headers that name another user behind a proxy', ko: '프록시 뒤에서 다른 사용자를 지정하는 헤더' },
        file: 'src/inventory/oauth2-proxy.e2e.test.ts',
        test: 'headers of a user do not change who it is behind the proxy',
      },
    ],
  },
  {
    title: { en: 'Databases', ko: '데이터베이스' },
    attacks: [
      {
        about: { en: 'Another process with the lock of SQLite', ko: 'SQLite 잠금을 가진 다른 프로세스' },
        failed: { en: 'a write was a 500 at once', ko: '쓰기가 바로 500이었습니다' },
        file: 'src/inventory/unavailable.test.ts',
        test: 'writes wait for a lock of another process, in their order, and reads do not',
      },
      {
        about: { en: 'A lock that is not released', ko: '풀리지 않는 잠금' },
        failed: { en: 'a 500, and /readyz did not show it', ko: '500이었고 /readyz에 나타나지 않았습니다' },
        file: 'src/inventory/unavailable.test.ts',
        test: 'a write that cannot get the lock is a 503 with Retry-After, and /readyz and the metrics show it',
      },
      {
        about: { en: 'A SQLite file that is read-only or full', ko: '읽기 전용이거나 가득 찬 SQLite 파일' },
        failed: { en: 'a 500, and /readyz did not show it', ko: '500이었고 /readyz에 나타나지 않았습니다' },
        file: 'src/inventory/unavailable.test.ts',
        test: 'a … file refuses writes with a reason, loses nothing, and is found usable without a restart',
      },
      {
        about: { en: 'A PostgreSQL that becomes read-only', ko: '읽기 전용이 된 PostgreSQL' },
        failed: {
          en: 'writes were a 503, and /readyz did not show it',
          ko: '쓰기가 503이었지만 /readyz에 나타나지 않았습니다',
        },
        file: 'src/inventory/read-only.e2e.test.ts',
        test: 'a read-only PostgreSQL refuses writes with a reason, answers reads, and is found writable without a restart',
      },
      {
        about: { en: 'PostgreSQL killed while it writes', ko: '쓰는 도중 종료된 PostgreSQL' },
        file: 'src/inventory/postgres.e2e.test.ts',
        test: 'a killed PostgreSQL loses no acknowledged write, and the inventory recovers without help',
      },
      {
        about: { en: 'A failover of PostgreSQL', ko: 'PostgreSQL 장애 조치' },
        file: 'test/packaging/replicas.e2e.test.ts',
        test: 'PostgreSQL restarts, and fails over to its synchronous standby',
      },
      {
        about: { en: 'A failover without a packet of the old server', ko: '이전 서버의 패킷이 없는 장애 조치' },
        file: 'src/inventory/postgres.e2e.test.ts',
        test: 'after a failover without a packet of the old server, one query fails and the next one is answered',
      },
      {
        about: { en: 'The inventory killed at any moment', ko: '아무 때나 종료된 inventory' },
        file: 'src/inventory/crash.test.ts',
        test: 'every acknowledged put is stored after kill -9 at any moment',
      },
      {
        about: { en: 'A damaged SQLite file', ko: '손상된 SQLite 파일' },
        file: 'src/inventory/store.test.ts',
        test: 'a damaged file is renamed and logged, and the store starts with a new file',
      },
    ],
  },
  {
    title: { en: 'Certificates', ko: '인증서' },
    attacks: [
      {
        about: { en: 'A cloud with an expired certificate', ko: '인증서가 만료된 클라우드' },
        file: expired,
        test: 'a cloud whose certificate has expired gets no password, and is used again once it is renewed',
      },
      {
        about: { en: 'An API server with an expired certificate', ko: '인증서가 만료된 API 서버' },
        file: expired,
        test: 'an API server whose certificate has expired gets no token, and is used again once it is renewed',
      },
      {
        about: { en: 'A message bus with an expired certificate', ko: '인증서가 만료된 메시지 버스' },
        file: expired,
        test: 'a message bus whose certificate has expired gets no account, and the error says why',
      },
      {
        about: { en: 'A client certificate that expires in a connection', ko: '연결 중에 만료되는 클라이언트 인증서' },
        file: 'src/viola/tls.test.ts',
        test: 'a client certificate that expires during a connection is refused from then on',
      },
      {
        about: { en: 'A PostgreSQL with a certificate of another CA', ko: '다른 CA의 인증서를 쓰는 PostgreSQL' },
        file: 'src/inventory/postgres.e2e.test.ts',
        test: 'the server certificate is verified, and one of an unknown CA is refused',
      },
    ],
  },
  {
    title: { en: 'Clocks', ko: '시계' },
    attacks: [
      {
        about: { en: 'The clock of the cloud a day behind', ko: '하루 늦은 클라우드 시계' },
        failed: { en: 'every new port was ignored for ever', ko: '새 포트가 모두 영구히 무시되었습니다' },
        file: 'src/operator/test/operator.test.ts',
        test: 'a port of a cloud whose clock is a day behind is delivered, and one from before the object is not',
      },
      {
        about: { en: 'A cloud whose clock is hours off, and its tokens', ko: '몇 시간 틀린 클라우드 시계와 토큰' },
        file: 'src/openstack/session.test.ts',
        test: 'with a cloud clock that is … hours off, the token is renewed only before it expires',
      },
      {
        about: { en: 'The clock of the operator set back', ko: '뒤로 돌린 operator 시계' },
        file: 'src/operator/sync/sync-schedule.test.ts',
        test: 'a clock that is set back does not delay the resend of nodes with DOWN ports',
      },
      {
        about: {
          en: 'A clock that was a day ahead, with an older inventory',
          ko: '하루 앞섰던 시계와 이전 버전 inventory',
        },
        failed: { en: 'no verdict was sent for a day', ko: '하루 동안 판정을 보내지 않았습니다' },
        file: 'src/operator/record/records.test.ts',
        test: 'a clock that was ahead delays no verdicts after it is set back',
      },
      {
        about: { en: 'The clock of a node', ko: '노드의 시계' },
        file: 'src/controller/plan/plan.test.ts',
        test: 'the end of an agent is between the creation of its Job and now, whatever the clock of its node says',
      },
      {
        about: { en: 'The clock of a leader that died', ko: '종료된 leader의 시계' },
        file: 'src/kube/leader.test.ts',
        test: 'a candidate waits for the lease of a dead holder by its own clock',
      },
    ],
  },
]
