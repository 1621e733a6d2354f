package proxy

import (
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// guesses limits the wrong and unchecked passwords of a client: thirty, then one every half
// minute.
var guesses = ratelimit.New(2, time.Minute, 30)

// login is a password check in the background with the exchanges of this loop that wait for
// it. They hold a complete request, and otherwise count as connecting.
type login struct {
	digest  guard.Digest
	client  ratelimit.Key // client charged for the guess
	auth    *table.Protection
	waiting []*exchange
}

// loginWait is an exchange's wait for a login.
type loginWait struct {
	login  *login // pending check before a backend is selected; may be nil
	invite bool   // the client waits for 100 Continue
}

// check starts the check of the plan's credentials unless it is already running. The client
// is charged for a guess until they prove to be right, so that a client with many guesses
// cannot fill the queue. If check returns nil, the plan has the reason.
func (w *worker) check(p *table.Plan) *login {
	digest := p.Digest
	if l := w.logins[digest]; l != nil {
		return l
	}
	e, q := w.engine, &w.query
	key := e.guesses.Address(q.Client())
	if p.Wait = e.guesses.Take(key, q.Now, guesses); p.Wait > 0 {
		p.Refuse(q, table.StepAuth, table.RefusedGuesses)
		return nil
	}
	l := &login{digest: digest, client: key, auth: p.Auth}
	job := q.AuthCache.Job()
	job.Done = func(right bool) {
		if right {
			for _, other := range e.Workers {
				if other != w {
					other.loop.Post(func() { other.query.AuthCache.Learn(digest, other.Clock()) })
				}
			}
		}
		w.loop.Post(func() { w.checked(l, right) })
	}
	if !e.checker.Check(job) {
		e.guesses.Refund(key, guesses)
		p.Wait = second
		p.Refuse(q, table.StepAuth, table.RefusedBusy)
		return nil
	}
	if w.logins == nil {
		w.logins = map[guard.Digest]*login{}
	}
	w.logins[digest] = l
	return l
}

// await401 makes the exchange wait for a password check. invite means that the client gets
// 100 Continue after success.
func (ex *exchange) await401(l *login, invite bool) {
	ex.save()
	ex.login, ex.invite = l, invite
	l.waiting = append(l.waiting, ex)
}

// leave removes an exchange that ends while it waits.
func (l *login) leave(ex *exchange) {
	if i := slices.Index(l.waiting, ex); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// checked resumes or refuses the waiting exchanges.
func (w *worker) checked(l *login, right bool) {
	delete(w.logins, l.digest)
	if right {
		w.query.AuthCache.Learn(l.digest, w.Clock())
		w.engine.guesses.Refund(l.client, guesses)
	}
	for len(l.waiting) > 0 {
		ex := l.waiting[0]
		l.waiting = l.waiting[1:]
		ex.login = nil
		ex.authenticated(l.auth, right)
	}
}

// authenticated continues an exchange that waited.
func (ex *exchange) authenticated(p *table.Protection, right bool) {
	cl := ex.client
	defer ex.peer.Conn.Contain()
	if !right {
		ex.note(rejected.Unauthorized, 401, table.RefusedPassword.Reason)
		ex.failWith(401, p.UserChallenge)
		return
	}
	if ex.invite && !ex.inviteBody() {
		return
	}
	ex.forwardTo()
	if ex.client == cl {
		ex.ClientReadable()
	}
}
