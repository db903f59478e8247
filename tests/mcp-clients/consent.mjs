// The browser of a user who says yes: it follows a client's link to the consent page and allows what is asked, signed in as `plan.user`.

/** Agrees, and returns the URL that the browser would open next: the client's callback, with a code. */
export async function agree(link, plan) {
  const page = await fetch(link, { redirect: 'manual' });
  if (page.status !== 302) throw new Error(`${page.status} ${await page.text()}`);
  const request = new URL(page.headers.get('location')).searchParams.get('request');
  const decided = await fetch(new URL('/api/oauth/consent', plan.url), {
    method: 'POST',
    headers: { ...plan.user, 'content-type': 'application/json' },
    body: JSON.stringify({ request, approve: true }),
  });
  const { redirect } = await decided.json();
  if (!redirect) throw new Error(`${decided.status} ${request}`);
  return redirect;
}

/** The same, and then opens the callback, as a browser does. */
export async function agreeAndReturn(link, plan) {
  const page = await fetch(await agree(link, plan));
  if (!page.ok) throw new Error(`callback: ${page.status} ${await page.text()}`);
  await page.text();
}
