// Runs in a page of another origin: everything it can try with the cookie of the user. Returns what it learned or could do.
globalThis.attack = async ({ target, token, reads, records, session }) => {
  const json = { 'content-type': 'application/json' }
  const plain = { 'content-type': 'text/plain' }
  const signIn = JSON.stringify({ token })
  const withCookie = { credentials: 'include' }
  const call = (path, options) => () =>
    fetch(target + path, { ...withCookie, signal: AbortSignal.timeout(2_000), ...options }).then(answer =>
      answer.text(),
    )
  const element =
    (name, path, attributes = {}) =>
    () =>
      new Promise((resolve, reject) => {
        const one = Object.assign(document.createElement(name), attributes, {
          onload: () => resolve('loaded'),
          onerror: reject,
        })
        one[name === 'link' ? 'href' : name === 'object' ? 'data' : 'src'] = target + path
        document.body.append(one)
      })
  const frame = path => async () => {
    const one = document.createElement('iframe')
    one.src = target + path
    document.body.append(one)
    await new Promise(resolve => one.addEventListener('load', resolve))
    return one.contentDocument?.body.textContent || one.contentWindow.document.body.textContent
  }
  /** The browser sends cookies with a new window that it keeps from frames of other sites. */
  const openWindow = path => async () => {
    const one = open(target + path)
    while (one.location.href === 'about:blank') await new Promise(resolve => setTimeout(resolve, 20))
    return one.document.body.textContent
  }
  const form = enctype => async () => {
    const into = Object.assign(document.createElement('iframe'), { name: `into-${enctype}` })
    const one = document.createElement('form')
    Object.assign(one, { method: 'POST', action: target + session, enctype, target: into.name })
    // As text/plain this is valid JSON with the token of the attacker.
    const field = Object.assign(document.createElement('input'), { name: `{"token":"${token}","x":"`, value: '"}' })
    one.append(field)
    document.body.append(into, one)
    const answered = new Promise(resolve => into.addEventListener('load', resolve))
    one.submit()
    await answered
  }
  const stream = (create, opened) => () =>
    new Promise((resolve, reject) => {
      const one = create()
      one.addEventListener('open', () => resolve(opened))
      one.addEventListener('error', reject)
    })
  const [events = ''] = reads.filter(path => path.endsWith('/events'))
  const tries = {
    ...Object.fromEntries(reads.map(path => [`read ${path}`, call(path)])),
    ...Object.fromEntries(reads.map(path => [`read ${path} without CORS`, call(path, { mode: 'no-cors' })])),
    'write records': call('/v1/inventory/records', { method: 'PUT', headers: json, body: records }),
    'write records as text': call('/v1/inventory/records', { method: 'PUT', headers: plain, body: records }),
    'post records': call('/v1/inventory/records', { method: 'POST', headers: plain, body: records, mode: 'no-cors' }),
    'write with a token of its own': call('/v1/inventory/records', {
      ...{ method: 'PUT', body: records },
      headers: { ...json, authorization: `Bearer ${token}` },
    }),
    'sign in': call(session, { method: 'POST', headers: json, body: signIn }),
    'sign in as text': call(session, { method: 'POST', headers: plain, body: signIn, mode: 'no-cors' }),
    'sign in without a type': call(session, { method: 'POST', body: new Blob([signIn]), mode: 'no-cors' }),
    'sign in by a beacon': async () => void navigator.sendBeacon(target + session, signIn),
    'sign in by a form': form('text/plain'),
    'sign in by another form': form('application/x-www-form-urlencoded'),
    'sign in by a form with parts': form('multipart/form-data'),
    'sign out': call(session, { method: 'DELETE' }),
    image: element('img', session),
    script: element('script', reads[0]),
    'style sheet': element('link', reads[0], { rel: 'stylesheet' }),
    'frame of the dashboard': frame('/'),
    'frame of the documentation': frame('/docs'),
    'frame of the data': frame(reads[0]),
    'window with the data': openWindow(reads[0]),
    'event stream': stream(() => new EventSource(target + events, { withCredentials: true }), 'opened'),
    'web socket': stream(() => new WebSocket(target.replace('http', 'ws') + events), 'opened'),
  }
  // An accepted form has no answer that a frame would load.
  const bounded = make => Promise.race([make(), new Promise(resolve => setTimeout(resolve, 4_000))])
  const outcomes = await Promise.all(
    Object.entries(tries).map(async ([name, make]) => [name, await bounded(make).catch(() => undefined)]),
  )
  return outcomes.filter(([, learned]) => learned).map(([name, learned]) => `${name}: ${String(learned).slice(0, 80)}`)
}
