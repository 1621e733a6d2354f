package proxy

import (
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// guesses is how many passwords of one client may be wrong or wait to be checked:
// thirty, then one more in half a minute.
var guesses = ratelimit.New(2, time.Minute, 30)

// login is credentials that are being checked in the background, and the
// exchanges of this loop that wait for it. They hold a request that is ready
// to be sent and look to everybody as if they were connecting.
type login struct {
	digest  guard.Digest
	client  ratelimit.Key // whose guess it is
	auth    *table.Protection
	waiting []*exchange
}

// loginWait is an exchange's wait for a login.
type loginWait struct {
	login  *login // before a backend is looked for; nil for nothing
	invite bool   // the client waits to be asked for its body
}

// check has the credentials checked that the plan was made with, unless they are
// already. The client is charged for a guess until they turn out to be right: one
// that sends many at once does not fill the queue for others. Without a login the
// plan says why there is none.
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

// await401 makes the exchange wait for a password to be checked. invite says
// that the client is to be told to send the body once it is right.
func (ex *exchange) await401(l *login, invite bool) {
	ex.save()
	ex.login, ex.invite = l, invite
	l.waiting = append(l.waiting, ex)
}

// leave is for an exchange that ends while it waits.
func (l *login) leave(ex *exchange) {
	if i := slices.Index(l.waiting, ex); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// checked lets those in who waited, or tells them that they are not.
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

// authenticated goes on with an exchange that waited.
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
