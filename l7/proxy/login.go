package proxy

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// Limits of the wrong and unchecked passwords of an address. guesses is for one user of a
// service; addressGuesses, which is larger, is for all users of all services. Thus clients
// behind one address (NAT) do not lock each other out.
var (
	guesses        = ratelimit.New(2, time.Minute, 30)
	addressGuesses = ratelimit.New(20, time.Minute, 300)
)

// logins holds the password checks in the background. All loops share it, so that a password
// that arrives on several loops is checked once. Only requests with unknown credentials take
// its lock.
type logins struct {
	users     *ratelimit.Table // guesses
	addresses *ratelimit.Table // addressGuesses
	lock      sync.Mutex
	pending   map[guard.Digest]charge
}

func newLogins() *logins {
	return &logins{users: ratelimit.NewTable(), addresses: ratelimit.NewTable(), pending: map[guard.Digest]charge{}}
}

// charge holds the keys charged for a guess.
type charge struct{ user, address ratelimit.Key }

// take charges a guess. It returns the nanoseconds until the client may guess again.
func (l *logins) take(q *table.Query, service string) (c charge, wait int64) {
	c.address = l.addresses.Address(q.Client())
	key := binary.BigEndian.AppendUint64(q.Address[:0], uint64(c.address))
	key = binary.BigEndian.AppendUint32(key, q.Farm.ID)
	key = append(append(key, service...), 0)
	q.Address = append(key, q.AuthCache.User()...)
	c.user = l.users.Text(q.Address)
	if wait = l.users.Take(c.user, q.Now, guesses); wait > 0 {
		return c, wait
	}
	if wait = l.addresses.Take(c.address, q.Now, addressGuesses); wait > 0 {
		l.users.Refund(c.user, guesses)
	}
	return c, wait
}

// refund takes a charge back.
func (l *logins) refund(c charge) {
	l.users.Refund(c.user, guesses)
	l.addresses.Refund(c.address, addressGuesses)
}

// login holds the guests of one loop that wait for a password check.
type login struct {
	waiting []guest
}

// guest is an exchange or DNS query that waits for a password check. It keeps its request and
// continues, or is refused, with the verdict.
type guest interface {
	authenticated(v guard.Verdict)
}

// loginWait is a guest's wait for a login.
type loginWait struct {
	check  *login            // pending check before a backend is selected; may be nil
	auth   *table.Protection // that requires it
	invite bool              // the client waits for 100 Continue
}

// check starts the check of the plan's credentials unless it is already running. The client
// is charged for a guess until they prove to be right, so that a client with many guesses
// cannot fill the queue. If check returns nil, the plan has the reason.
func (w *worker) check(p *table.Plan) *login {
	digest := p.Digest
	if l := w.logins[digest]; l != nil {
		return l
	}
	if !w.startCheck(p) {
		return nil
	}
	if w.logins == nil {
		w.logins = map[guard.Digest]*login{}
	}
	l := &login{}
	w.logins[digest] = l
	return l
}

// startCheck starts a check unless it is running for another loop. Its result arrives on
// this loop after the current event.
func (w *worker) startCheck(p *table.Plan) bool {
	e, q, digest := w.engine, &w.query, p.Digest
	c, running, wait := e.logins.begin(q, digest, p.Service.Name)
	switch {
	case running:
		return true
	case wait > 0:
		p.Wait = wait
		p.Refuse(q, table.StepAuth, table.RefusedGuesses)
		return false
	}
	job := q.AuthCache.Job()
	job.Source = uint64(c.address)
	job.Done = func(v guard.Verdict) { e.checked(digest, v) }
	e.checker.Check(job)
	return true
}

// begin charges a guess and records its check, unless it is running.
func (l *logins) begin(q *table.Query, digest guard.Digest, service string) (c charge, running bool, wait int64) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if c, running = l.pending[digest]; running {
		return c, true, 0
	}
	if c, wait = l.take(q, service); wait == 0 {
		l.pending[digest] = c
	}
	return c, false, wait
}

// checked passes the result of a check to all loops.
func (e *Engine) checked(digest guard.Digest, v guard.Verdict) {
	all := e.logins
	all.lock.Lock()
	c := all.pending[digest]
	delete(all.pending, digest)
	all.lock.Unlock()
	if v != guard.Wrong {
		all.refund(c)
	}
	for _, w := range e.Workers {
		w.loop.Post(func() { w.checked(digest, v) })
	}
}

// await makes a guest wait for a password check that auth requires. invite means that
// the client gets 100 Continue after success.
func (lw *loginWait) await(g guest, l *login, auth *table.Protection, invite bool) {
	lw.check, lw.auth, lw.invite = l, auth, invite
	l.waiting = append(l.waiting, g)
}

// retrySoon is the field line of a 503 for a password that was not checked.
var retrySoon = []byte("Retry-After: 5\r\n")

// leave removes a guest that ends while it waits.
func (l *login) leave(g guest) {
	if i := slices.Index(l.waiting, g); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// checked stores the result of a check and resumes or refuses the waiting guests.
func (w *worker) checked(digest guard.Digest, v guard.Verdict) {
	if v != guard.Unchecked {
		w.query.AuthCache.Learn(digest, v == guard.Right, w.Clock())
	}
	l := w.logins[digest]
	if l == nil {
		return
	}
	delete(w.logins, digest)
	for len(l.waiting) > 0 {
		g := l.waiting[0]
		l.waiting = l.waiting[1:]
		g.authenticated(v)
	}
}

// authenticated implements guest.
func (ex *exchange) authenticated(v guard.Verdict) {
	cl := ex.client
	defer ex.peer.Conn.Contain()
	ex.login.check = nil
	switch v {
	case guard.Unchecked:
		ex.note(rejected.RateLimited, 503, table.RefusedBusy.Reason)
		ex.failWith(503, retrySoon)
		return
	case guard.Wrong:
		ex.note(rejected.Unauthorized, 401, table.RefusedPassword.Reason)
		ex.failWith(401, ex.login.auth.UserChallenge)
		return
	}
	if ex.login.invite && !ex.inviteBody() {
		return
	}
	ex.forwardTo()
	if ex.client == cl {
		ex.ClientReadable()
	}
}
