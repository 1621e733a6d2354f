package backend

import (
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// BackendExpired implements dial.Owner: time to look after the streams.
func (t *h2Conn) BackendExpired() {
	now := t.pool.loop.Now()
	t.busy = true
	for s := t.head; s != nil; s = s.next {
		if at := s.deadline; at != 0 && at <= now {
			s.deadline = 0
			s.note().expired = true
		}
	}
	t.dispatch()
	t.busy = false
	switch {
	case t.up == nil:
		return
	case t.asked != 0 && now-t.asked >= pingTime:
		t.end(errSilent)
	case t.streams == 0 && now-t.idleAt >= dial.IdleTime:
		t.leave()
	default:
		t.up.SetDeadline(now + tick)
	}
	t.work()
}

// doubt asks the backend for a sign of life after it kept an exchange waiting.
// Until there is one new exchanges go elsewhere. It is asked no oftener than
// that: servers take offence at frequent PINGs.
func (t *h2Conn) doubt() {
	now := t.pool.loop.Now()
	if t.asked == 0 && now-t.heard >= second/2 && t.up != nil && t.h2 != nil {
		t.asked = now
		t.h2.Ping()
	}
}

// leave lets the streams there are go on and closes the connection behind them.
func (t *h2Conn) leave() {
	if t.leaving {
		return
	}
	t.leaving = true
	t.to.remove(t)
	if t.h2 != nil {
		t.h2.Shutdown()
	}
	t.again()
}

// over reports whether nobody needs the connection any more.
func (t *h2Conn) over() bool {
	switch {
	case t.streams > 0:
		return false
	case t.h2 != nil:
		return t.h2.Finished()
	}
	return t.leaving && t.established
}

// farewell closes a connection that nobody needs any more.
func (t *h2Conn) farewell() {
	t.leaving = true
	t.to.remove(t)
	t.close()
}

// broken ends a connection whose backend broke the rules; GOAWAY says which.
func (t *h2Conn) broken() {
	if t.up.Pending() == 0 {
		_ = t.up.Write(t.h2.Output())
	}
	t.end(ErrLost)
	t.work()
}

// end gives up the connection: why is what the exchanges on it are told, unless
// they know better.
func (t *h2Conn) end(why *Error) {
	if t.why == nil {
		t.why = why
	}
	t.leaving = true
	t.to.remove(t)
	t.release()
	t.close()
}

// close closes the connection and ends its streams.
func (t *h2Conn) close() {
	if up := t.up; up != nil {
		t.up = nil
		up.Discard()
	}
	if t.h2 != nil {
		busy := t.busy
		t.busy = true
		t.h2.Close()
		t.busy = busy
	}
}

// refused notes that the backend took a stream for one too many.
func (t *h2Conn) refused(code http2.Code) {
	if code == http2.CodeRefusedStream {
		t.most = max(1, min(t.most, t.h2.Streams()))
	}
}

// BackendFailed implements dial.Owner.
func (t *h2Conn) BackendFailed(err error) {
	t.up = nil
	if !t.established {
		t.failed = err
		for s := t.head; s != nil; s = s.next {
			s.note().outcome = true
		}
	}
	t.end(ErrLost)
	t.busy = false
	t.work()
}
